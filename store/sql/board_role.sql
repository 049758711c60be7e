-- board_role
-- What this session's role may do on the dashboard.
-- Returns: store.BoardRole
SELECT session_user::text, pg_has_role(session_user, 'rowrun_author', 'MEMBER'), pg_has_role(session_user, 'rowrun_operator', 'MEMBER')
