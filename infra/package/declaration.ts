import { readFileSync } from 'node:fs'
import { checkoutRoot } from '../checkout.ts'
import { settingsSchema } from '../settings.ts'

/** Files that declare the settings with their comments. */
const SOURCES = ['settings', 'front-settings', 'web-settings', 'account-settings']

/** The members of a valibot schema that the renderer reads. */
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

/**
 * Returns a function that looks up a setting's comment in the sources. @throws Error if a setting has no
 * comment
 */
function commentsOf(): (name: string) => string[] {
  const text = SOURCES.map(name => readFileSync(`${checkoutRoot}infra/${name}.ts`, 'utf8')).join('\n')
  const found = new Map(
    [...text.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(\w+): /gm)].map(
      ([, comment = '', name = '']) => [name, linesOf(comment)],
    ),
  )
  return name => {
    const lines = found.get(name)
    if (!lines) throw new Error(`the setting ${name} has no comment`)
    return lines
  }
}

const linesOf = (comment: string): string[] =>
  comment
    .split('\n')
    .map(line => line.replace(/^\s*\*? ?/, '').trim())
    .filter(Boolean)

const quoted = (name: string): string => (/^\w+$/.test(name) ? name : `'${name}'`)

/** Converts a schema to a TypeScript type. @param indent of the current line */
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

/** Returns the package's type declarations: the props follow the settings' schema, with its comments. */
export function renderDeclaration(): string {
  const said = commentsOf()
  const members = Object.entries(entriesOf(settingsSchema)).map(([name, schema]) =>
    memberOf(name, schema, said(name)),
  )
  return `import type { Environment, Stack } from 'aws-cdk-lib'
import { Construct } from 'constructs'

/** The settings of a deployment, and the deployment's target account and region. */
export interface CloudAuthProps {
  /** account and region of the stacks; default: account and region of the deploying credentials */
  readonly env?: Environment
${members.join('\n')}
}

/** A cluster: its three stacks are children of this construct. The templates depend on the props only. */
export declare class CloudAuth extends Construct {
  /** the stacks of tables and key, of functions and front end, and of background workers */
  readonly stacks: { readonly data: Stack; readonly api: Stack; readonly workers: Stack }
  /** @throws Error that names every fault of the props */
  constructor(scope: Construct, id: string, props: CloudAuthProps)
}
`
}
