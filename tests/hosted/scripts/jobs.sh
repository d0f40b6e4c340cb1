# Background jobs and `wait`, without a terminal.
(exit 3) & a=$!; (exit 4) & b=$!; wait $b; echo $?; wait $a; echo $?
wait; echo $?
for i in 1 2 3 4 5; do (exit $i) & done; wait; echo all $?
sh -c 'exit 7' & wait $!; echo $?
sh -c 'kill -TERM $$' & wait $! 2>/dev/null; echo $?
mkfifo /tmp/line
{ read word < /tmp/line; echo "got $word"; } & echo word > /tmp/line; wait
# A pipeline in the background is one job, and its last command's status.
echo text | cat | (cat; exit 6) & wait $!; echo $?
# A background job has no input of its own.
cat & wait $!; echo "nothing read: $?"
trap 'echo usr1' USR1
# The sender outlives its signal, so that the shell hears of it before it can take the sender's status.
me=$$; (kill -USR1 $me; sleep 0.02) & wait $!; sleep 0.05; wait; echo after
trap 'echo end' EXIT
(trap - EXIT; echo sub) &
wait
