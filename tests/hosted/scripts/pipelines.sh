printf '%s\n' pear apple fig apple | sort | uniq -c | sort -rn | head -2 | tr -s ' '
seq 1 100 | wc -l
seq 1 20 | tail -3 | tr '\n' ' '; echo
seq 10 | sed -n '3,5p' | tr '\n' ,; echo
echo one two three | cut -d ' ' -f 2
yes | head -1000 | wc -c
false | true; echo $?
(echo a; echo b >&2) 2>&1 | sort
seq 1 50000 | tail -1
{ echo 1; echo 2; } | while read x; do echo "got $x"; done
