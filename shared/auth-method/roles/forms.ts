import { type IamEntity, isArnPrefixOfEntity, parseIamEntity } from '../../values/arn.ts'
import { partitionOfRegion } from '../../values/region.ts'
import type { BindingName, RoleBindings } from './bindings.ts'

/**
 * The syntax of a binding's values. A binding's value with another syntax matches nothing. The syntax is AWS's
 * grammar, not a list of existing regions or types.
 */
export interface BindingForm {
  fits(value: string): boolean
  /** an example value, for administrators */
  example: string
}

const ACCOUNT = /^\d{12}$/

const accountForm: BindingForm = { fits: value => ACCOUNT.test(value), example: '111122223333' }

const regionForm: BindingForm = {
  fits: value => partitionOfRegion(value) !== undefined,
  example: 'us-east-1',
}

/** Returns the form of EC2 resource IDs: a prefix and hexadecimal digits. */
function idForm(prefix: string): BindingForm {
  const id = new RegExp(`^${prefix}-[0-9a-f]+$`)
  return { fits: value => id.test(value), example: `${prefix}-0123456789abcdef0` }
}

/** Returns the form of ARNs of these entity types, and of ARN prefixes before a trailing wildcard. */
export const createArnForm = (...types: [IamEntity['type'], ...IamEntity['type'][]]): BindingForm => ({
  fits: value => {
    if (!value.endsWith('*'))
      return types.some(type => parseIamEntity(value)?.type === type) && !value.includes('*')
    const beginning = value.slice(0, -1)
    return !beginning.includes('*') && types.some(type => isArnPrefixOfEntity(beginning, type))
  },
  example: types.map(type => `arn:aws:iam::111122223333:${type}/path/name`).join(' or '),
})

const LONGEST_TAG_VALUE = 256
/** Matches a list, or part of a list, that was sent as JSON inside a string. */
const JSON_TEXT = /^[[{]|[\]}]$/

const tagForm: BindingForm = {
  fits: value => {
    const text = value.endsWith('*') ? value.slice(0, -1) : value
    return text.length <= LONGEST_TAG_VALUE && !text.includes('*') && !JSON_TEXT.test(text)
  },
  example: 'prod, or prod* for every value that begins with prod',
}

/** The form of each binding's values. Only role writes load these forms, so logins stay fast. */
const forms: Readonly<Record<BindingName, BindingForm>> = {
  bound_region: regionForm,
  bound_ec2_instance_id: idForm('i'),
  bound_account_id: accountForm,
  bound_ami_id: idForm('ami'),
  bound_subnet_id: idForm('subnet'),
  bound_vpc_id: idForm('vpc'),
  bound_iam_instance_profile_arn: createArnForm('instance-profile'),
  bound_iam_role_arn: createArnForm('role'),
  bound_tags: tagForm,
}

/** Returns warnings for the values of a binding that match nothing because of their form. */
export function warnAboutBinding(name: BindingName, bound: RoleBindings): string[] {
  const values: readonly string[] | Readonly<Record<string, readonly string[]>> = bound[name] ?? []
  return Array.isArray(values)
    ? bindingFormWarnings(name, values, forms[name])
    : Object.entries(values as Readonly<Record<string, readonly string[]>>).flatMap(([key, listed]) =>
        bindingFormWarnings(`${name}: ${JSON.stringify(key)}`, listed, forms[name]),
      )
}

const MOST_VALUES = 5
const LONGEST_SHOWN = 80

/** Returns a warning that names the values of another form; empty if all values fit. */
export function bindingFormWarnings(
  name: string,
  values: readonly string[],
  { fits, example }: BindingForm,
): string[] {
  const wrong = values.filter(value => !fits(value))
  const shown = wrong.slice(0, MOST_VALUES).map(value => JSON.stringify(value.slice(0, LONGEST_SHOWN)))
  const more = wrong.length > MOST_VALUES ? ` and ${wrong.length - MOST_VALUES} more` : ''
  return wrong.length === 0
    ? []
    : [
        `${name}: ${shown.join(', ')}${more} can match nobody; a value looks like ${example}${wildcardHint(wrong)}`,
      ]
}

const wildcardHint = (wrong: readonly string[]): string =>
  wrong.some(value => value.slice(0, -1).includes('*')) ? '; a * counts as a wildcard only at the end' : ''
