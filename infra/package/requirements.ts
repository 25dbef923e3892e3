/** Peer dependencies of the package. They are optional, because the command needs none of them. */
export const peerPackageNames = ['aws-cdk-lib', 'constructs'] as const

/** The oldest major version of Node for each use of the project. */
export const oldestNode = { command: 20, construct: 22, checkout: 24 } as const

/**
 * Returns why the construct cannot be used, or undefined if it can be used.
 * @param node version of the running Node
 * @param isInstalled reports whether a package can be loaded
 */
export function findConstructFault(node: string, isInstalled: (name: string) => boolean): string | undefined {
  if (Number.parseInt(node, 10) < oldestNode.construct)
    return `CloudAuth needs Node ${oldestNode.construct} or later, and this is Node ${node}`
  const missing = peerPackageNames.filter(name => !isInstalled(name))
  if (missing.length === 0) return undefined
  return `CloudAuth needs the packages ${peerPackageNames.join(' and ')} in your app. Not installed: ${missing.join(', ')}. Run: npm install ${peerPackageNames.join(' ')}`
}
