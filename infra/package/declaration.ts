import { readFileSync } from 'node:fs'
import { root } from '../checkout.ts'
import { settingsSchema } from '../settings.ts'

/** Where settings are written down, with what is said of each. */
const SOURCES = ['settings', 'front-settings', 'web-settings', 'account-settings']

/** What is looked at of a schema of valibot. */
interface Schema {
  type: string
  wrapped?: Schema
  default?: unknown
  pipe?: readonly Schema[]
  entries?: Readonly<Record<string, Schema>>
  item?: Schema
  value?: Schema
  options?: readonly unknown[]
  literal?: unknown
}

/** What is said of a setting in the sources: the comment before its name. @throws Error where there is none */
function commentsOf(): (name: string) => string[] {
  const text = SOURCES.map(name => readFileSync(`${root}infra/${name}.ts`, 'utf8')).join('\n')
  const found = new Map(
    [...text.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(\w+): /gm)].map(
      ([, comment = '', name = '']) => [name, linesOf(comment)],
    ),
  )
  return name => {
    const lines = found.get(name)
    if (!lines) throw new Error(`nothing is said of the setting ${name}`)
    return lines
  }
}

const linesOf = (comment: string): string[] =>
  comment
    .split('\n')
    .map(line => line.replace(/^\s*\*? ?/, '').trim())
    .filter(Boolean)

const quoted = (name: string): string => (/^\w+$/.test(name) ? name : `'${name}'`)

/** A schema as a type of TypeScript. @param indent of the line in which it stands */
function typeOf(schema: Schema, indent: string): string {
  const [first] = schema.pipe ?? []
  if (first && first !== schema) return typeOf(first, indent)
  const inner = `${indent}  `
  switch (schema.type) {
    case 'string':
    case 'number':
    case 'boolean':
      return schema.type
    case 'literal':
      return `'${schema.literal}'`
    case 'optional':
      return typeOf(schema.wrapped as Schema, indent)
    case 'array':
      return `readonly (${typeOf(schema.item as Schema, indent)})[]`
    case 'record':
      return `Readonly<Record<string, ${typeOf(schema.value as Schema, indent)}>>`
    case 'picklist':
      return (schema.options as readonly string[]).map(one => `'${one}'`).join(' | ')
    case 'variant':
      return (schema.options as readonly Schema[]).map(one => typeOf(one, indent)).join(' | ')
    case 'strict_object': {
      const members = Object.entries(schema.entries ?? {}).map(
        ([name, one]) => `${inner}readonly ${quoted(name)}${isOptional(one)}: ${typeOf(one, inner)}`,
      )
      return `{\n${members.join('\n')}\n${indent}}`
    }
    default:
      throw new Error(`no type is known for ${schema.type}`)
  }
}

const isOptional = ({ type }: Schema): '?' | '' => (type === 'optional' ? '?' : '')

function memberOf(name: string, schema: Schema, lines: readonly string[]): string {
  const told = schema.default === undefined ? [] : [`@default ${JSON.stringify(schema.default)}`]
  const comment = [...lines, ...told].map(line => `   * ${line}`).join('\n')
  return `  /**\n${comment}\n   */\n  readonly ${name}${isOptional(schema)}: ${typeOf(schema, '  ')}`
}

const entriesOf = (schema: { entries: object }) =>
  schema.entries as unknown as Readonly<Record<string, Schema>>

/** The package's types: props as the schema of settings has them, documented as it is. */
export function declaration(): string {
  const said = commentsOf()
  const members = Object.entries(entriesOf(settingsSchema)).map(([name, schema]) =>
    memberOf(name, schema, said(name)),
  )
  return `import type { Environment, Stack } from 'aws-cdk-lib'
import { Construct } from 'constructs'

/** The settings of a deployment, and where it goes. */
export interface CloudAuthProps {
  /** account and region of the stacks; default: those of whoever deploys */
  readonly env?: Environment
${members.join('\n')}
}

/** A cluster: its three stacks, below the construct. Their templates follow from the props alone. */
export declare class CloudAuth extends Construct {
  /** tables and key; functions and front; what runs in the background */
  readonly stacks: { readonly data: Stack; readonly api: Stack; readonly workers: Stack }
  /** @throws Error naming every fault of the props */
  constructor(scope: Construct, id: string, props: CloudAuthProps)
}
`
}
