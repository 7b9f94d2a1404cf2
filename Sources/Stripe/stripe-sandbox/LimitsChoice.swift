import ArgumentParser
import StripeSandbox

/// The limits a sandbox can be started with.
enum LimitsChoice: String, ExpressibleByArgument, CaseIterable {
    /// As fast as the machine: for benchmarks.
    case none
    /// What Stripe allows its sandboxes.
    case test
    /// What Stripe allows in live mode.
    case live

    var limits: SandboxLimits {
        switch self {
        case .none: .none
        case .test: .test
        case .live: .live
        }
    }
}
