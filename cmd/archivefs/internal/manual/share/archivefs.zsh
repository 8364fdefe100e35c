#compdef archivefs

# zsh completion of archivefs
_archivefs() {
  local paths line word meaning
  local -a lines found open
  lines=("${(@f)$(printf '%s\0' "${(@)words[2,CURRENT]}" | command $words[1] complete 2>/dev/null)}")
  paths=$lines[1]
  for line in "${(@)lines[2,-1]}"; do
    word=${line%%$'\t'*} meaning=${line#*$'\t'}
    found+=("${word//:/\\:}:$meaning")
  done
  local ret=1
  if [[ $words[CURRENT] == -*=* && $paths != none ]]; then
    compset -P '*='
  elif (($#found)); then
    [[ $#found -eq 1 && ${found[1]%%:*} == *= ]] && open=(-S '') # a value follows
    _describe -t arguments archivefs found "${(@)open}" && ret=0
  fi
  case $paths in
    files) _files && ret=0 ;;
    directories) _files -/ && ret=0 ;;
  esac
  return ret
}

_archivefs "$@"
