extension SandboxState {
    /// The customer pressed a button of a redirect page; pressing again changes nothing.
    ///
    /// - Returns: What the page shows now.
    mutating func decide(_ id: String, authorised: Bool, reason: String?) -> CustomerVisit? {
        if let source = sources[id], source.status == "pending" {
            if let receiver = source.receiver {
                // Nobody refuses a transfer: the customer just leaves without paying.
                if authorised {
                    let missing = max(1, (source.amount ?? 1) - receiver.available)
                    pay(id, amount: missing, isPending: false)
                }
            } else {
                let failure = ["user_abort", "declined", "processing_error"].first { $0 == reason }
                settleSource(
                    id,
                    to: authorised ? "chargeable" : "failed",
                    failureReason: failure ?? "declined"
                )
            }
        } else if intents[id]?.status == "requires_action" {
            if authorised { authoriseIntent(id) } else { failIntent(id, Self.abandoned) }
        } else if setups[id]?.status == "requires_action" {
            if authorised {
                authoriseSetup(id)
            } else {
                failSetup(
                    id,
                    PaymentFailure(
                        code: "setup_intent_authentication_failure",
                        message: "The customer did not authorise the setup."
                    )
                )
            }
        }
        return visit(id, clientSecret: nil)
    }

    /// The customer sent money from a page.
    ///
    /// - Returns: What the page shows now; nil when nothing takes money there.
    mutating func transfer(_ id: String, amount: Int) -> CustomerVisit? {
        if sources[id]?.receiver != nil {
            pay(id, amount: amount, isPending: false)
        } else if case .bankTransfer = intents[id]?.nextAction {
            fundIntent(id, amount: amount)
        } else {
            return nil
        }
        return visit(id, clientSecret: nil)
    }
}
