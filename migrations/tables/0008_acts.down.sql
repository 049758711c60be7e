DROP TABLE rowrun.act;
