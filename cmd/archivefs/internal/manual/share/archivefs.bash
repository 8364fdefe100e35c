# bash completion of archivefs

_archivefs() {
  local words=() word glue='' i paths line
  # bash takes --ttl=1m and https://host apart; archivefs wants them whole.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == [=:]* && $i -gt 1 ]] || [[ $glue ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    [[ $word == *[=:] ]] && glue=1 || glue=''
  done
  local cur=${words[${#words[@]} - 1]}
  # What stands before the last break of the word is not replaced.
  local kept=''
  [[ $COMP_WORDBREAKS == *=* && $cur == -*=* ]] && kept=${cur%"${cur##*=}"}

  COMPREPLY=()
  {
    read -r paths || return
    while IFS=$'\t' read -r word line; do
      COMPREPLY+=("${word#"$kept"}")
    done
  } < <(printf '%s\0' "${words[@]}" | command "$1" complete 2>/dev/null)

  case $paths in
    files) compopt -o default ;;
    directories) compopt -o filenames -o plusdirs ;;
  esac
  # Of mount options there may be more, behind a comma or an equals sign.
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}

complete -F _archivefs archivefs
