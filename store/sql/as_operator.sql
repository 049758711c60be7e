-- as_operator
-- What follows in this transaction has an operator's rights and no others: SET LOCAL ROLE.
-- Returns: nothing of use; 42501 where this session's role is no member
SELECT set_config('role', 'rowrun_operator', true)
