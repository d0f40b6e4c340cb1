trap 'echo caught' USR1
kill -USR1 $$; echo after
trap 'echo bye' EXIT
trap '' TERM; kill -TERM $$; echo ignored
trap - TERM
{ (kill -TERM $(exec sh -c 'echo $PPID')); } 2>/dev/null; echo $?
{ sh -c 'kill -SEGV $$'; } 2>/dev/null; echo $?
trap 'echo int; exit 4' INT
kill -INT $$
echo never
