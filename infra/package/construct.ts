import type { Construct } from 'constructs'
import { checkoutRoot } from '../checkout.ts'
import { type CloudAuthProps, CloudAuth as Cluster } from '../cloud-auth.ts'

/** The published construct, which uses the bundles of the package. */
export class CloudAuth extends Cluster {
  constructor(scope: Construct, id: string, props: CloudAuthProps) {
    super(scope, id, props, `${checkoutRoot}functions`)
  }
}
