import { type LocalHostPlace, readResourcesIn } from '../../../infra/local/template/assembly.ts'
import type { Statement } from './evaluate.ts'

/** The policies of the functions' roles, read from synthesised templates. */
export interface Policies {
  /** statements by folder in functions/ */
  functions: Record<string, Statement[]>
  /** ARNs of tables, by the beginning of their names */
  tables: Record<string, string>
  /** ARN of the KMS key that wraps the keyring */
  key: string
}

interface Attached {
  Roles: string[]
  PolicyDocument: { Statement: Statement[] }
}

/** @param directory the output directory of `app.synth()` */
export function policiesIn(directory: string, place: LocalHostPlace): Policies {
  const { ofType, arnOf, nameOf, assetOf } = readResourcesIn(directory, place)
  const folders = ofType('AWS::Lambda::Function').map(one => ({
    folder: assetOf(one).folder,
    role: String(one.properties['Role']),
  }))
  const roles = new Map(
    ofType('AWS::IAM::Role').map(({ stack, id }) => [nameOf(stack, id), arnOf(stack, id)]),
  )
  const attached = ofType('AWS::IAM::Policy').map(({ properties }) => properties as unknown as Attached)
  const statementsOf = (role: string): Statement[] =>
    attached
      .filter(({ Roles }) => Roles.some(name => roles.get(name) === role))
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
  const [key] = ofType('AWS::KMS::Key').map(({ stack, id }) => arnOf(stack, id))
  return {
    functions: Object.fromEntries(folders.map(({ folder, role }) => [folder, statementsOf(role)])),
    tables: Object.fromEntries(
      ofType('AWS::DynamoDB::GlobalTable').map(({ stack, id }) => [nameOf(stack, id), arnOf(stack, id)]),
    ),
    key: key ?? '',
  }
}
