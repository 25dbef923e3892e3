import { isObject } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { intShape, mapShape, objectShape, textArrayShape, textShape } from '../../values/shape.ts'
import { formatTimeSpan } from '../../values/words.ts'
import { describeExpiry, type ExpiryDescription, readCertificateNotAfter } from '../ends.ts'
import { type CompiledForm, fillPath } from '../forms.ts'
import { type ReviewedMount, readReviewedMount } from '../reviewed.ts'
import { askFor, askOrThrow, clearResult } from './asking.ts'
import { consoleForms } from './contract.ts'
import {
  createElement,
  createTable,
  createTermList,
  elementById,
  inputById,
  replaceContent,
  showText,
} from './dom.ts'
import { createRemoval, listShownFields, openSubject, type Subject } from './edit.ts'
import { showExpiries } from './looks.ts'
import { pageModel } from './model.ts'
import { askCapabilities } from './rights.ts'

const listShape = objectShape({ keys: textArrayShape })
const mountsShape = objectShape({ mounts: mapShape(objectShape({ type: textShape, accessor: textShape })) })
const issuersShape = objectShape({
  key_info: mapShape(objectShape({ account_id: textShape, fetched_at: textShape, last_error: textShape })),
})
const mapOfAccountsShape = objectShape(
  { accounts: intShape, last_error: textShape },
  { completed_at: textShape },
)
const certificateShape = objectShape({ cloud_public_cert: textShape })

/** The names of a listing, or why the names are unknown. */
type Listing = { names: readonly string[] } | { fault: string }

/** Reads the names of a listing. An empty listing is answered with 404. @throws Error */
const namesAt = async (path: string): Promise<readonly string[]> =>
  readShape(listShape, (await askOrThrow(`${path}?list=true`, { admits: 404 })).data).fields.keys ?? []

const listingAt = (path: string): Promise<Listing> =>
  namesAt(path).then(
    names => ({ names }),
    (error: Error) => ({ fault: error.message }),
  )

function createNameButton(name: string, open: (name: string) => Promise<void>, label?: string): HTMLElement {
  const button = createElement('button', { type: 'button', class: 'name', 'aria-label': label }, name)
  button.addEventListener('click', () => void open(name))
  return button
}

const askMounts = (): Promise<void> =>
  askFor('roles', readMounts, ({ found, certificates, issuers, maps }) => {
    pageModel.certificates = certificates
    showExpiries(Date.now())
    const rows = found.map(({ path, type, accessor, roles }) => [
      createNameButton(path, openMount),
      type,
      accessor,
      createNameButton('Review', () => askReview(path), `Review ${path}`),
      'fault' in roles
        ? createElement('span', { class: 'bad' }, roles.fault)
        : createElement(
            'span',
            {},
            ...(roles.names.length === 0
              ? ['none']
              : roles.names.map(role => createNameButton(role, () => openRole(path, role)))),
          ),
    ])
    clearResult('review')
    replaceContent(elementById('roles-shown'), found, () => [
      createTable(['mount', 'type', 'accessor', 'weaknesses', 'roles'], rows),
      ...(issuers.length > 0
        ? [createTable(['mount', 'account', 'issuer', 'keys fetched', 'fault'], issuers)]
        : []),
      ...(maps.length > 0
        ? [createTable(['mount', 'accounts of the organization', 'map completed', 'fault'], maps)]
        : []),
    ])
  })

async function readMounts() {
  const answer = await askOrThrow('sys/auth')
  const { mounts = {} } = readShape(mountsShape, { mounts: answer.data }).fields
  const methods = Object.entries(mounts)
    .map(([path, { type, accessor }]) => ({ path: path.replace(/\/$/, ''), type, accessor }))
    .filter(({ type }) => type !== 'token')
  const [roles, certificates, issuers, maps] = await Promise.all([
    Promise.all(methods.map(({ path }) => listingAt(fillPath('auth/:mount/roles', [path])))),
    Promise.all(methods.map(({ path }) => certificatesOf(path))),
    Promise.all(methods.map(({ path }) => issuersOf(path))),
    Promise.all(methods.map(({ path }) => mapOfAccounts(path))),
  ])
  const found = methods.map((mount, index) => ({ ...mount, roles: roles[index] ?? { names: [] } }))
  return { found, certificates: certificates.flat(), issuers: issuers.flat(), maps: maps.flat() }
}

/** Returns a row for each of the first issuers of a mount; none if the token may not list issuers. */
async function issuersOf(mount: string): Promise<string[][]> {
  const path = fillPath('auth/:mount/config/jwt/issuers', [mount])
  const { data } = await askOrThrow(`${path}?list=true&limit=50`, { admits: 404 }).catch(() => ({ data: {} }))
  const { key_info: issuers = {} } = readShape(issuersShape, data).fields
  return Object.entries(issuers).map(([id, one]) => {
    return [mount, one.account_id ?? '', id, ageOf(one.fetched_at), one.last_error || 'none']
  })
}

const ageOf = (time = ''): string => `${formatTimeSpan(Date.now() - Date.parse(time))} ago`

/** Returns a row for the map of a mount's organization; none if the mount has no map, or the token may not read it. */
async function mapOfAccounts(mount: string): Promise<string[][]> {
  const path = fillPath('auth/:mount/config/organization', [mount])
  const answer = await askOrThrow(path).catch(() => undefined)
  if (!answer) return []
  const {
    accounts,
    completed_at: completed,
    last_error: fault,
  } = readShape(mapOfAccountsShape, answer.data).fields
  return [[mount, String(accounts ?? 0), completed ? ageOf(completed) : 'never', fault || 'none']]
}

const askReview = (mount: string): Promise<void> =>
  askFor(
    'review',
    async () => readReviewedMount(mount, (await askOrThrow(fillPath('auth/:mount/review', [mount]))).data),
    reviewed => replaceContent(elementById('review-shown'), reviewed, () => reviewShown(reviewed)),
  )

const reviewShown = ({ sentence, tone, findings, gaps }: ReviewedMount): HTMLElement[] => [
  createElement('p', { class: tone }, sentence),
  ...(findings.length > 0 ? [createTable(['severity', 'where', 'weakness', 'what to do'], findings)] : []),
  ...(gaps.length > 0 ? [createElement('p', {}, `Not looked at as a whole: ${gaps.join('; ')}.`)] : []),
]

async function certificatesOf(mount: string): Promise<ExpiryDescription[]> {
  const path = fillPath('auth/:mount/config/certificate', [mount])
  const listed = await listingAt(`${path}s`)
  if ('fault' in listed) return [{ what: `certificates of ${mount}`, tone: 'unknown', text: listed.fault }]
  return Promise.all(
    listed.names.map(async name => {
      const what = `certificate ${name} of ${mount}`
      const answer = await askOrThrow(`${path}/${encodeURIComponent(name)}`).catch((error: Error) => error)
      if (answer instanceof Error) return { what, tone: 'unknown', text: answer.message } as const
      const { cloud_public_cert: pem = '' } = readShape(certificateShape, answer.data).fields
      return describeExpiry(what, 'certificate', readCertificateNotAfter(pem), Date.now())
    }),
  )
}

/** Opens an object whose one path reads, writes and deletes it. */
const openPlain = (
  form: CompiledForm,
  subject: Pick<Subject, 'area' | 'title' | 'places' | 'ends' | 'refresh'>,
): Promise<void> =>
  openSubject({
    ...subject,
    name: subject.places.at(-1) ?? '',
    edits: form,
    creates: form,
    read: async () => {
      const { isOk, data } = await askOrThrow(fillPath(form.path, subject.places), { admits: 404 })
      return isOk ? data : undefined
    },
  })

function openRole(mount: string, role: string): Promise<void> {
  inputById('explain-mount').value = mount
  inputById('explain-role').value = role
  return openPlain(consoleForms.role, {
    area: 'role',
    title: `Role ${role} of ${mount}`,
    places: [mount, role],
    ends: 'Nobody can log in with this role any more, and nobody can renew its tokens. Its tokens stay valid until they expire.',
    refresh: askMounts,
  })
}

const openMount = (mount: string): Promise<void> =>
  openSubject({
    area: 'role',
    title: `Mount ${mount}`,
    name: mount,
    places: [mount],
    edits: consoleForms.tuning,
    creates: consoleForms.mount,
    ends: 'Every token, role and configuration of this mount ends at once.',
    read: async () => {
      const { data } = await askOrThrow('sys/auth')
      const found = isObject(data) ? data[`${mount}/`] : undefined
      // the settings stand inside the mount, and the form shows both
      return isObject(found) && isObject(found['config'])
        ? { ...found, ...found['config'], config: '' }
        : found
    },
    refresh: askMounts,
  })

const askPolicies = (): Promise<void> =>
  askFor(
    'policies',
    () => namesAt('sys/policies/acl'),
    names =>
      replaceContent(elementById('policies-shown'), names, () => [
        createElement('p', {}, ...names.map(name => createNameButton(name, openPolicy))),
      ]),
  )

const openPolicy = (name: string): Promise<void> =>
  openPlain(consoleForms.policy, {
    area: 'policy',
    title: `Policy ${name}`,
    places: [name],
    ends: 'Tokens with this policy lose its rights at once.',
    refresh: askPolicies,
  })

const REVOKE = 'auth/token/revoke-accessor'

const lookUpAccessor = (accessor: string): Promise<void> =>
  askFor(
    'accessor',
    async () => {
      const [{ data }, permits] = await Promise.all([
        askOrThrow('auth/token/lookup-accessor', { body: { accessor } }),
        askCapabilities([REVOKE]),
      ])
      return { fields: listShownFields(data), mayRevoke: permits.allow(REVOKE, 'update', false) }
    },
    ({ fields, mayRevoke }) => {
      const name = Object.fromEntries(fields)['display_name'] ?? accessor
      const ends = 'This token and every token that it created end at once.'
      const removal = () =>
        createRemoval({ verb: 'Revoke', name, ends }, async () => {
          await askOrThrow(REVOKE, { body: { accessor } })
          clearResult('accessor')
          showText('accessor-said', 'Revoked.', 'good')
        })
      replaceContent(elementById('accessor-shown'), fields, () => [
        createTermList(fields),
        ...(mayRevoke ? [removal()] : []),
      ])
    },
  )

function onSubmit(id: string, act: () => Promise<void>): void {
  elementById(id).addEventListener('submit', event => {
    event.preventDefault()
    void act()
  })
}

/** Adds the handlers of the lists of mounts, roles and policies. */
export function bindAdministration(): void {
  elementById('roles-ask').addEventListener('click', () => {
    clearResult('role')
    void askMounts()
  })
  elementById('policies-ask').addEventListener('click', () => void askPolicies())
  onSubmit('role-form', () => {
    const [mount, role] = [inputById('role-mount').value.trim(), inputById('role-name').value.trim()]
    return role === '' ? openMount(mount) : openRole(mount, role)
  })
  onSubmit('accessor-form', () => lookUpAccessor(inputById('accessor-text').value.trim()))
  onSubmit('policy-form', () => openPolicy(inputById('policy-name').value.trim()))
}
