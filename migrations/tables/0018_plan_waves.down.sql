DROP TABLE rowrun.plan_wave;
