cd /tmp
echo one > a; echo two >> a; cat < a
cat a none > out 2> err; echo $?; cat out; wc -l < err
exec 3> b; echo three >&3; exec 3>&-; cat b
{ echo out; echo err >&2; } > both 2>&1; sort both
cat <<END
here $((1 + 1)) $(echo sub)
END
cat <<'END'
$not expanded
END
cat <<-END
	tabs gone
	END
read x y < a; echo $x
: > a; wc -c < a
set -C; echo x > a 2>/dev/null || echo noclobber
