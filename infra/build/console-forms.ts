import type { Endpoint, EndpointGroup } from '../../shared/api/endpoint.ts'
import type { ParameterField } from '../../shared/api/fields.ts'
import type { CompiledForm, CompiledForms } from '../../shared/console/forms.ts'

/** Fields that the API accepts without effect. A form does not show them. */
const WITHOUT_EFFECT = /^(?:Accepted and ignored|Not supported|Stored and returned, without effect)/

/**
 * Compiles the forms of the console page from the endpoint table.
 * @throws Error if the table has no such endpoint, or a form would show a secret
 */
export const compileConsoleForms = (groups: readonly EndpointGroup[]): CompiledForms => ({
  role: compileForm(groups, '/auth/:mount/role/:role'),
  mount: compileForm(groups, '/sys/auth/:method_path'),
  tuning: compileForm(groups, '/sys/mounts/auth/:method_path/tune'),
  policy: compileForm(groups, '/sys/policies/acl/:policy_name'),
})

const PLACE = '<template id="forms">'

/** Inserts the forms into the page as JSON, where they do not count as code. @throws Error if the page has no place for them */
export function insertConsoleForms(page: string, groups: readonly EndpointGroup[]): string {
  if (!page.includes(PLACE)) throw new Error(`the page lacks ${PLACE}`)
  const text = JSON.stringify(compileConsoleForms(groups)).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return page.replace(PLACE, () => PLACE + text)
}

function compileForm(groups: readonly EndpointGroup[], path: string): CompiledForm {
  const row = groups
    .flatMap(({ endpoints }) => endpoints)
    .find(one => one.method === 'POST' && one.path === path)
  if (row?.access.by !== 'policy') throw new Error(`the endpoint table has no endpoint for a form at ${path}`)
  const { capability, sudo = false } = row.access
  return {
    path: path.slice(1),
    creates: capability === 'by-existence' ? 'create' : 'update',
    isSudo: sudo,
    fields: compileFields(row),
  }
}

const compileFields = ({ path, fields }: Endpoint): string =>
  Object.entries(fields)
    .filter(([, { doc, replacedBy }]) => replacedBy === undefined && !WITHOUT_EFFECT.test(doc))
    .flatMap(([name, field]) => {
      if (field.secret) throw new Error(`a form at ${path} would show the secret ${name}`)
      const kind = chooseKind(field)
      return kind === undefined ? [] : [`${name} ${kind} ${field.doc}`]
    })
    .join('\n')

/** Chooses how a form shows a field. Fields of any JSON value have no input. */
function chooseKind({ schema: { type, oneOf } }: ParameterField<unknown>): string | undefined {
  if (type === 'boolean') return 'flag'
  if (type === 'object') return 'json'
  if (Array.isArray(oneOf) && oneOf.some(one => one.type === 'array')) return 'list'
  return type === undefined && oneOf === undefined ? undefined : 'text'
}
