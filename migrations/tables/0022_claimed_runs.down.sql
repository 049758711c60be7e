DROP TYPE rowrun.claimed_run;
