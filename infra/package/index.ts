import type { Construct } from 'constructs'
import { root } from '../checkout.ts'
import { type CloudAuthProps, CloudAuth as Cluster } from '../cloud-auth.ts'

/** The construct as the package has it: with the bundles that lie beside it. */
export class CloudAuth extends Cluster {
  constructor(scope: Construct, id: string, props: CloudAuthProps) {
    super(scope, id, props, `${root}functions`)
  }
}
