// Loads the SDK's clients before any test, because loading the unbundled clients takes longer than a login
// may take.
import '../../../shared/adapters/aws/access-keys.ts'
import '../../../shared/adapters/aws/describe-instances.ts'
import '../../../shared/adapters/aws/principals.ts'
import '../../../shared/adapters/aws/sessions.ts'
