import PollerClient
import StripeAPI

/// A failed request as the user sees it: what happened, what to do, and an exit status.
struct Failure {
    let message: String
    let exitStatus: Int32

    /// Statuses of sysexits.h where there is one: 64 usage, 69 unavailable, 77 not allowed.
    init(_ error: PollerError, hasKey: Bool) {
        switch error {
        case .invalidConfiguration(let reason):
            message = reason
            exitStatus = 64
        case .unreachable:
            message =
                "\(error)\nCheck that pollerd runs there, or name another server with POLLER_URL."
            exitStatus = 69
        case .problem(let problem) where problem.status == 401:
            let advice =
                hasKey
                ? "POLLER_API_KEY is not one of the server's keys."
                : "Set POLLER_API_KEY to one of the server's keys."
            message = "\(problem)\n\(advice)"
            exitStatus = 77
        case .problem(let problem) where problem.status == 403:
            message = problem.description
            exitStatus = 77
        case .problem(let problem):
            var lines = [problem.description]
            lines += problem.items.map { "item \($0.index + 1): \($0.detail)" }
            let more = problem.itemsTotal - problem.items.count
            if more > 0 { lines.append("… and \(more) more") }
            if let id = problem.requestID, problem.status >= 500 {
                lines.append("The server's log has more under the request id \(id).")
            }
            message = lines.joined(separator: "\n")
            exitStatus = 1
        case .unintelligible:
            message = error.description
            exitStatus = 1
        }
    }
}

extension Failure {
    /// A failed call to Stripe; statuses as for one to our own server.
    ///
    /// A read has no effect, so it is repeated as one likes.
    init(_ error: StripeError, base: String, isRead: Bool) {
        switch error {
        case .transport:
            let advice =
                isRead
                ? ""
                : " What was asked may have happened all the same: repeat it with the same "
                    + "--idempotency-key only."
            message =
                "\(base): \(error)\nCheck the network, or POLLER_STRIPE_API_BASE.\(advice)"
            exitStatus = 69
        case .invalidRequest:
            message = error.description
            exitStatus = 64
        case .api(let failure) where failure.status == 401:
            message = "\(Self.text(failure))\nSTRIPE_API_KEY is not a key of this account."
            exitStatus = 77
        case .api(let failure) where failure.status == 403:
            message = "\(Self.text(failure))\nThe key in STRIPE_API_KEY lacks this permission."
            exitStatus = 77
        case .api(let failure):
            message = Self.text(failure)
            exitStatus = 1
        case .bodyTooLarge, .malformed:
            message = "\(error)\nIs POLLER_STRIPE_API_BASE the address of Stripe's API?"
            exitStatus = 1
        }
    }

    /// What Stripe says, for the person who asked.
    private static func text(_ failure: APIFailure) -> String {
        let lines = [failure.error?.message, failure.description].compactMap { $0 }
        return lines.joined(separator: "\n")
    }
}
