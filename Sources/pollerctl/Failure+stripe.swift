import StripeAPI

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
