/** The part of a CloudFormation template that the host reads. */
export interface CfnTemplate {
  Resources: Record<string, CfnResource>
  Outputs?: Record<string, { Value: unknown; Export?: { Name: string } }>
}

export interface CfnResource {
  Type: string
  Properties?: Record<string, unknown>
}

/** A resource of a stack with resolved properties. */
export interface ResolvedCfnResource {
  stack: string
  id: string
  properties: Record<string, unknown>
}

/** Values of references on this host. */
export interface ResourceNaming {
  /** values of `AWS::Region` and other pseudo parameters */
  pseudo: Readonly<Record<string, string>>
  /** value of `Ref` for a resource */
  ref: (stack: string, logicalId: string) => string
  /** value of `Fn::GetAtt` */
  attribute: (stack: string, logicalId: string, name: string) => string
}

/** Stacks by name. */
export type StackTemplatesByName = Readonly<Record<string, CfnTemplate>>

/**
 * Creates a resolver of intrinsic functions.
 * @throws Error that names a function which this host does not know
 */
export function createTemplateResolver(stacks: StackTemplatesByName, naming: ResourceNaming) {
  const resolve = (stack: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(item => resolve(stack, item))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value)
    const [name, argument] = entries[0] ?? ['', undefined]
    if (entries.length === 1 && name === 'Ref') return reference(stack, String(argument))
    if (entries.length === 1 && name.startsWith('Fn::')) return intrinsic(stack, name, argument)
    return Object.fromEntries(entries.map(([key, item]) => [key, resolve(stack, item)]))
  }

  const reference = (stack: string, id: string): string => naming.pseudo[id] ?? naming.ref(stack, id)

  function intrinsic(stack: string, name: string, argument: unknown): unknown {
    switch (name) {
      case 'Fn::GetAtt': {
        const [id, attribute] = argument as [string, string]
        return naming.attribute(stack, id, attribute)
      }
      case 'Fn::Join': {
        const [separator, parts] = argument as [string, unknown[]]
        return parts.map(part => String(resolve(stack, part))).join(separator)
      }
      case 'Fn::Sub':
        return String(argument).replace(/\$\{([\w:]+)\}/g, (_, id: string) => reference(stack, id))
      case 'Fn::ImportValue':
        return imported(String(argument))
      case 'Fn::GetStackOutput':
        return outputOf(argument as { StackName: string; OutputName: string })
      default:
        throw new Error(`the template uses ${name}, which the embedded host does not know`)
    }
  }

  function outputOf({ StackName, OutputName }: { StackName: string; OutputName: string }): unknown {
    const output = stacks[StackName]?.Outputs?.[OutputName]
    if (!output) throw new Error(`the stack ${StackName} has no output ${OutputName}`)
    return resolve(StackName, output.Value)
  }

  function imported(name: string): unknown {
    for (const [stack, { Outputs = {} }] of Object.entries(stacks)) {
      const output = Object.values(Outputs).find(one => one.Export?.Name === name)
      if (output) return resolve(stack, output.Value)
    }
    throw new Error(`no stack exports ${name}`)
  }

  return resolve
}
