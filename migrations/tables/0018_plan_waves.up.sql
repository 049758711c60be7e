-- Plans in waves.
CREATE TABLE rowrun.plan_wave (
    plan_id      bigint NOT NULL REFERENCES rowrun.plan (id) ON DELETE CASCADE,
    wave         integer NOT NULL CONSTRAINT plan_wave_positive CHECK (wave > 0),
    name         text NOT NULL DEFAULT '',
    soak         interval NOT NULL DEFAULT '00:00:00' CONSTRAINT plan_wave_soak CHECK (soak >= '00:00:00'::interval),
    max_failures integer NOT NULL DEFAULT 0 CONSTRAINT plan_wave_max_failures CHECK (max_failures >= 0),
    opened_at    timestamptz,
    done_at      timestamptz,
    opens_at     timestamptz,
    stopped_at   timestamptz,
    accepted_at  timestamptz,
    PRIMARY KEY (plan_id, wave)
);
CREATE INDEX plan_wave_unopened ON rowrun.plan_wave (plan_id, wave) WHERE opened_at IS NULL;
CREATE INDEX plan_wave_opens_at ON rowrun.plan_wave (opens_at) WHERE opened_at IS NULL AND opens_at IS NOT NULL;
COMMENT ON TABLE rowrun.plan_wave IS 'The waves of a plan: runs of tasks of a wave wait until it is opened.';
COMMENT ON COLUMN rowrun.plan_wave.plan_id IS 'The plan.';
COMMENT ON COLUMN rowrun.plan_wave.wave IS 'Its place: a wave is opened behind all smaller ones.';
COMMENT ON COLUMN rowrun.plan_wave.name IS 'For people.';
COMMENT ON COLUMN rowrun.plan_wave.soak IS 'How long it has to be over before the next one is opened.';
COMMENT ON COLUMN rowrun.plan_wave.max_failures IS 'With more tasks FAILED for good or CANCELED than this no further wave is opened.';
COMMENT ON COLUMN rowrun.plan_wave.opened_at IS 'Since when its runs may go; NULL: they wait.';
COMMENT ON COLUMN rowrun.plan_wave.done_at IS 'Since when all its tasks are over, and not too many have failed; NULL: they are not.';
COMMENT ON COLUMN rowrun.plan_wave.opens_at IS 'When it is opened, if nothing comes between; NULL: nobody knows yet.';
COMMENT ON COLUMN rowrun.plan_wave.stopped_at IS 'Since when its failures keep the next wave closed; NULL: they do not.';
COMMENT ON COLUMN rowrun.plan_wave.accepted_at IS 'When a person opened the next wave, whatever became of this one.';
