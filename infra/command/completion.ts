import { quoteForShell } from '../../shared/console/commands.ts'
import { CommandEnded } from './ended.ts'
import { type CommandName, type CommandRow, commandRows, optionsOfCommand } from './options.ts'

const commands = Object.entries(commandRows) as [CommandName, CommandRow][]

/** Formats one `case` of a POSIX shell. */
const branch = (pattern: string, action: string): string => `    ${pattern}) ${action} ;;\n`

function completeBash(): string {
  const reply = (words: readonly string[]) =>
    `COMPREPLY=($(compgen -W ${quoteForShell(words.join(' '))} -- "$current"))`
  const ofValues = commands.flatMap(([command]) =>
    optionsOfCommand(command).flatMap(([name, { value, choices }]) =>
      value === undefined
        ? []
        : [branch(`'${command} --${name}'`, `${choices ? reply(choices) : ':'}; return`)],
    ),
  )
  const ofCommands = commands.map(([command, { choices }]) =>
    branch(command, reply([...(choices ?? []), ...optionsOfCommand(command).map(([name]) => `--${name}`)])),
  )
  return `_cloud_auth() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${reply(commands.map(([command]) => command))}
    return
  fi
  # an option's value without choices is completed as a file name
  case "$command $previous" in
${ofValues.join('')}  esac
  case "$command" in
${ofCommands.join('')}  esac
}
complete -o bashdefault -o default -F _cloud_auth cloud-auth
`
}

/** Escapes characters that separate the parts of a specification of `_arguments`. */
const escapeForZsh = (text: string): string => text.replaceAll(/[\\[\]:]/g, character => `\\${character}`)

function completeZsh(): string {
  const describe = commands.map(([command, { help }]) => quoteForShell(`${command}:${escapeForZsh(help)}`))
  const branches = commands.map(([command, { choices }]) => {
    const specifications = optionsOfCommand(command).map(([name, { value, choices: of, help }]) => {
      const action = of ? `(${of.join(' ')})` : '_files'
      return `--${name}[${escapeForZsh(help)}]${value === undefined ? '' : `:${value}:${action}`}`
    })
    const word = `*:argument:${choices ? `(${choices.join(' ')})` : '_files'}`
    return branch(command, `_arguments ${[...specifications, word].map(quoteForShell).join(' ')}`)
  })
  return `#compdef cloud-auth
_cloud_auth() {
  local -a commands=(${describe.join(' ')})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case "$words[1]" in
${branches.join('')}  esac
}
compdef _cloud_auth cloud-auth
`
}

function completeFish(): string {
  const row = (...words: string[]) => `complete -c cloud-auth ${words.join(' ')}\n`
  return commands
    .flatMap(([command, { help, choices }]) => {
      const within = `-n ${quoteForShell(`__fish_seen_subcommand_from ${command}`)}`
      return [
        row('-n __fish_use_subcommand -f -a', command, '-d', quoteForShell(help)),
        ...(choices ? [row(within, '-f -a', quoteForShell(choices.join(' ')))] : []),
        ...optionsOfCommand(command).map(([name, { value, choices: of, help: does }]) =>
          row(
            within,
            `-l ${name}`,
            ...(value === undefined ? [] : of ? [`-x -a ${quoteForShell(of.join(' '))}`] : ['-r']),
            `-d ${quoteForShell(does)}`,
          ),
        ),
      ]
    })
    .join('')
}

const shells: Readonly<Record<(typeof commandRows)['completion']['choices'][number], () => string>> = {
  bash: completeBash,
  zsh: completeZsh,
  fish: completeFish,
}

/** Returns the script that completes command lines of `cloud-auth` in a shell. @throws CommandEnded `usage` */
export function createCompletion([shell = '', ...more]: readonly string[]): string {
  if (!Object.hasOwn(shells, shell) || more.length > 0)
    throw new CommandEnded('usage', `completion needs one shell: ${Object.keys(shells).join(', ')}`)
  return shells[shell as keyof typeof shells]()
}
