import { randomUUID } from 'node:crypto'
import { eventually } from '../support/programs/killed-hosts.ts'
import { EMULATED, type Emulator } from './emulator.ts'

/** Services that no SDK client of this project reaches. */
type Service = 'apigateway' | 'cloudformation' | 'elasticloadbalancing' | 'route53' | 's3'

/**
 * Sends a request to a service of the emulator, which finds the service by the signature's scope. The emulator does
 * not verify signatures.
 */
export function sendToService(
  { url, region }: Pick<Emulator, 'url' | 'region'>,
  service: Service,
  path: string,
  request: RequestInit = {},
): Promise<Response> {
  const scope = `${EMULATED.account}/20260101/${region}/${service}/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`
  return fetch(`${url}${path}`, { ...request, headers: { authorization } })
}

/** Returns the texts of all XML elements with a name. */
export const textsOf = (xml: string, element: string): string[] =>
  [...xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map(([, text = '']) => text)

/** Kinds of fronts, as the setting `front` names them. */
export type FrontKind = 'httpApi' | 'privateRestApi' | 'loadBalancer'

/**
 * Returns the emulator's own address of the only front for clients. The names in the output `Address` have no DNS
 * entries.
 */
export async function findFrontAddress(
  emulator: Pick<Emulator, 'url' | 'region'>,
  kind: FrontKind,
): Promise<string> {
  const places: Record<FrontKind, () => Promise<string[]>> = {
    httpApi: async () => {
      const listed = await (await sendToService(emulator, 'apigateway', '/v2/apis')).json()
      const { items } = listed as { items: { apiId: string; name: string }[] }
      const ofClients = items.filter(({ name }) => !name.endsWith(' link'))
      return ofClients.map(({ apiId }) => `_aws/execute-api/${apiId}/$default`)
    },
    // the stage of a REST API is the first part of the path
    privateRestApi: async () => {
      const listed = await (await sendToService(emulator, 'apigateway', '/restapis')).json()
      return (listed as { item: { id: string }[] }).item.map(({ id }) => `_aws/execute-api/${id}`)
    },
    loadBalancer: async () => {
      const describe = '/?Action=DescribeLoadBalancers&Version=2015-12-01'
      const answer = await (await sendToService(emulator, 'elasticloadbalancing', describe)).text()
      return textsOf(answer, 'LoadBalancerName').map(name => `_alb/${name}`)
    },
  }
  const found = await places[kind]()
  if (found.length !== 1) throw new Error(`the account has ${found.length} fronts for clients, not one`)
  return `${emulator.url}/${found[0]}`
}

/** Part of the reason for which CloudFormation refuses a change set without changes. */
const NO_CHANGES = 't contain changes. Submit different information'

/** A template that an assets bucket holds. */
interface UploadedTemplate {
  url: string
  /** names of its parameters */
  parameters: readonly string[]
}

/** The stacks and buckets of an emulated account, for deployments without the CDK. */
export class EmulatedStacks {
  private readonly emulator: Pick<Emulator, 'url' | 'region'>

  constructor(emulator: Pick<Emulator, 'url' | 'region'>) {
    this.emulator = emulator
  }

  /** Creates a bucket, or an object of a bucket. @param path name of the bucket, and key of the object */
  async put(path: string, body?: Uint8Array<ArrayBuffer>): Promise<void> {
    const answer = await sendToService(this.emulator, 's3', `/${path}`, {
      method: 'PUT',
      ...(body && { body }),
    })
    if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`)
  }

  /** Sends an action to CloudFormation. @throws Error with the answer if CloudFormation refuses the action */
  private async act(Action: string, fields: Record<string, string>): Promise<string> {
    const form = new URLSearchParams({ Action, Version: '2010-05-15', ...fields })
    const answer = await sendToService(this.emulator, 'cloudformation', '/', { method: 'POST', body: form })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${Action}: ${answer.status} ${text}`)
    return text
  }

  /** Returns the descriptions of all stacks as XML, by name. Deleted stacks are left out. */
  async describe(): Promise<Map<string, string>> {
    const stacks = (await this.act('DescribeStacks', {})).split('<StackName>').slice(1)
    return new Map(stacks.map(one => [one.slice(0, one.indexOf('<')), one]))
  }

  /** Waits until no operation on a stack is running. @returns the stack's description, or undefined without the stack */
  private settle(stack: string): Promise<{ description: string | undefined; status: string }> {
    return eventually(async () => {
      const description = (await this.describe()).get(stack)
      const [status = ''] = textsOf(description ?? '', 'StackStatus')
      return status.endsWith('_IN_PROGRESS') ? undefined : { description, status }
    })
  }

  /**
   * Creates or updates a stack by a change set, as `aws cloudformation deploy` does: parameters that the template lacks
   * are ignored, parameters without a new value keep their values, and a stack without changes stays as it is.
   * @returns the outputs
   * @throws Error if the stack does not reach the template's state
   */
  async deploy(
    StackName: string,
    { url: TemplateURL, parameters }: UploadedTemplate,
    values: Readonly<Record<string, string>>,
  ): Promise<Record<string, string>> {
    const kind = (await this.describe()).has(StackName) ? 'UPDATE' : 'CREATE'
    const change = { StackName, ChangeSetName: `change-${randomUUID()}` }
    const sent = parameters
      .filter(name => kind === 'UPDATE' || values[name] !== undefined)
      .flatMap((name, index) => {
        const [place, value] = [`Parameters.member.${index + 1}`, values[name]]
        return [
          [`${place}.ParameterKey`, name],
          value === undefined ? [`${place}.UsePreviousValue`, 'true'] : [`${place}.ParameterValue`, value],
        ]
      })
    await this.act('CreateChangeSet', {
      ...change,
      ChangeSetType: kind,
      TemplateURL,
      'Capabilities.member.1': 'CAPABILITY_IAM',
      ...Object.fromEntries(sent),
    })
    const hasChanges = !(await this.act('DescribeChangeSet', change)).includes(NO_CHANGES)
    if (hasChanges) await this.act('ExecuteChangeSet', change)
    const { description = '', status } = await this.settle(StackName)
    if (hasChanges && status !== `${kind}_COMPLETE`)
      throw new Error(`${StackName} ended as ${status}: ${description}`)
    const results = textsOf(description, 'OutputValue')
    return Object.fromEntries(textsOf(description, 'OutputKey').map((key, at) => [key, results[at] ?? '']))
  }

  /** Turns the termination protection of a stack on or off. */
  async protect(StackName: string, enabled: boolean): Promise<void> {
    await this.act('UpdateTerminationProtection', {
      StackName,
      EnableTerminationProtection: String(enabled),
    })
  }

  /** Deletes a stack. @throws Error if CloudFormation refuses the deletion, or a resource cannot be deleted */
  async delete(StackName: string): Promise<void> {
    await this.act('DeleteStack', { StackName })
    const { description } = await this.settle(StackName)
    if (description !== undefined) throw new Error(`${StackName} was not deleted: ${description}`)
  }
}
