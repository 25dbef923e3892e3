import { readShape } from '../../values/read-shape.ts'
import { mapShape, objectShape, textArrayShape } from '../../values/shape.ts'
import { askOrThrow } from './asking.ts'

/** Capabilities of the page's token at some paths. */
export interface Permits {
  /** Reports whether the token may do something at a path. */
  allow(path: string, capability: string, isSudo: boolean): boolean
  /** why the capabilities are unknown; empty: they are known */
  why: string
}

const capabilitiesShape = objectShape({ paths: mapShape(textArrayShape) })

/** Asks for the token's capabilities at paths. A token that may not ask may do nothing here. */
export async function askCapabilities(paths: readonly string[]): Promise<Permits> {
  try {
    const { data } = await askOrThrow('sys/capabilities-self', { body: { paths } })
    const known = readShape(capabilitiesShape, { paths: data }).fields.paths ?? {}
    const allow: Permits['allow'] = (path, capability, isSudo) => {
      const has = known[path] ?? []
      return has.includes('root') || (has.includes(capability) && (!isSudo || has.includes('sudo')))
    }
    return { allow, why: '' }
  } catch (error) {
    return { allow: () => false, why: `What the token may do is unknown. ${(error as Error).message}` }
  }
}
