# fish completion of archivefs

function __archivefs_complete
    set -l token (commandline -ct)
    set -l words (commandline -opc) $token
    set -q token[1]; or set -a words ''
    set -l lines (printf '%s\0' $words[2..] | command archivefs complete 2>/dev/null)
    printf '%s\n' $lines[2..]
    set -l word (string replace -r '^-[^=]*=' '' -- "$token")
    set -l before (string replace -r '[^=]*$' '' -- "$token")
    string match -qr '^-.*=' -- "$token"; or set before ''
    switch $lines[1]
        case files
            printf '%s\n' $before(__fish_complete_path "$word")
        case directories
            printf '%s\n' $before(__fish_complete_directories "$word" '')
    end
end

complete -c archivefs -f -a '(__archivefs_complete)'
