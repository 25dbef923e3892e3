import {
  isBindingElement,
  isCallExpression,
  isForInStatement,
  isInterfaceDeclaration,
  isObjectBindingPattern,
  isPropertyAccessExpression,
  isSpreadAssignment,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast'
import { type Project, type Type, TypeFlags } from 'typescript/unstable/sync'
import { root, sourcesIn, withProject } from './project.ts'

const PORTS = `${root}shared/ports.ts`

/** Functions of `Object` that read every member of their arguments. */
const READ_ALL = ['assign', 'entries', 'values']

/** A piece of code that reads every member of a value whose members are ports. */
export interface PortCopy {
  /** the path in the checkout, and the line */
  at: string
  /** the expression that the code copies */
  value: string
  /** members that are ports, by name */
  ports: readonly string[]
}

/** the folders whose files are checked, with a final slash */
export function findPortCopies(
  folders: readonly string[],
  files?: Readonly<Record<string, string>>,
): PortCopy[] {
  return withProject(project => {
    const portsOf = portFinder(project)
    return sourcesIn(project, folders).flatMap(file => copiesIn(file, project, portsOf))
  }, files)
}

function copiesIn(file: SourceFile, { checker }: Project, portsOf: (type: Type) => string[]): PortCopy[] {
  const values: Node[] = []
  const visit = (node: Node): void => {
    values.push(...copiedValues(node))
    node.forEachChild(visit)
  }
  visit(file)
  const types = checker.getTypeAtLocation(values)
  return values.flatMap((value, index) => {
    const type = types[index]
    const ports = type ? portsOf(type) : []
    const line = file.text.slice(0, value.getStart(file)).split('\n').length
    return ports.length > 0
      ? [{ at: `${file.fileName.slice(root.length)}:${line}`, value: value.getText(file), ports }]
      : []
  })
}

/** Returns the values of which a piece of code reads every member. */
function copiedValues(node: Node): readonly Node[] {
  if (isBindingElement(node))
    return node.dotDotDotToken && isObjectBindingPattern(node.parent) ? [node.parent] : []
  if (isSpreadAssignment(node) || isForInStatement(node)) return [node.expression]
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return []
  const { expression, name } = node.expression
  return expression.getText() === 'Object' && READ_ALL.includes(name.text) ? node.arguments : []
}

/** Returns a function that names the members of a type that are ports. */
function portFinder({ program, checker }: Project): (type: Type) => string[] {
  let ports = new Map<string, Type | undefined>()
  program.getSourceFile(PORTS)?.forEachChild(node => {
    const symbol =
      isInterfaceDeclaration(node) && node.name.text === 'Ports' && checker.getSymbolAtLocation(node.name)
    if (!symbol) return
    const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    ports = new Map(members.map(member => [member.name, checker.getTypeOfSymbol(member)]))
  })
  if (ports.size === 0) throw new Error(`${PORTS} has no interface Ports`)
  const known = new Map<number, string[]>()
  const isPort = (name: string, type: Type | undefined): boolean => {
    const port = ports.get(name)
    if (!port || !type || (type.flags & (TypeFlags.Any | TypeFlags.Unknown)) !== 0) return false
    return checker.isTypeAssignableTo(port, type)
  }
  return type => {
    const names = known.get(type.id) ?? [
      ...new Set(
        partsOf(checker.getBaseConstraintOfType(type) ?? type)
          .flatMap(part => checker.getPropertiesOfType(part))
          .filter(member => isPort(member.name, checker.getTypeOfSymbol(member)))
          .map(({ name }) => name),
      ),
    ]
    known.set(type.id, names)
    return names
  }
}

/** Returns the types of a union, or the type itself. */
const partsOf = (type: Type): readonly Type[] =>
  (type.flags & TypeFlags.Any) !== 0 ? [] : type.isUnionType() ? type.getTypes() : [type]
