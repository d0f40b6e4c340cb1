# Here-documents and what they are expanded to.
name=world
cat <<A; cat <<B
hello $name
A
second $((2 * 3)) \$name \\ `echo back`
B
cat <<'Q' | tr a-z A-Z
no $name here
Q
f() {
	cat <<-E
		indented $1
			twice
	E
}
f one; f two | wc -l
while read a b; do echo "$b-$a"; done <<L
1 one
2 two
L
cat <<E > /tmp/file
$(for i in 1 2 3; do echo line $i; done)
E
cat /tmp/file
sh <<'S'
echo inner $#; exit 4
S
echo $?
cat <<E1 <<E2
first
E1
last
E2
x=$(cat <<E
inside
E
); echo "[$x]"
# More than a pipe takes.
i=0; big=; while [ $i -lt 11 ]; do big="$big$big."; [ -z "$big" ] && big=x; i=$((i + 1)); done
cat <<E | wc -c
$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big$big
E
