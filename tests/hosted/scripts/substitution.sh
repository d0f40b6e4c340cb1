echo "$(echo a; echo b)" | wc -l
x=$(exit 5); echo $?
echo $(echo $(echo nested))
echo `echo back`
y=$(seq 1 1000 | wc -w); echo $y
echo "$(printf 'trailing\n\n\n')end"
