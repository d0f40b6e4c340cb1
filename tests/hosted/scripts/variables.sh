a=1; b="two words"; c='$a'
echo $a "$b" $c ${d:-default} ${#b} ${b%% *} ${b##* } ${b:+set}
set -- x 'y z' w
echo $# "$2" "$*" "$@"
shift; echo "$1"
for i in "$@"; do echo "<$i>"; done
echo $((3 + 4 * 5)) $((17 % 5)) $((1 << 10)) $((-7 / 2))
unset a; echo "[${a-unset}]"
readonly r=1; (r=2) 2>/dev/null || echo readonly
IFS=:; p=a:b:c; set -- $p; echo $#
