extension SandboxState {
    /// The page of a source or intent; nil when there is none, or the secret given is wrong.
    func visit(_ id: String, clientSecret: String?) -> RedirectVisit? {
        if let source = sources[id], let redirect = source.redirect {
            guard clientSecret == nil || clientSecret == source.clientSecret else { return nil }
            return RedirectVisit(
                id: id,
                title: source.type,
                amount: Self.display(source.amount, source.currency),
                isOpen: source.status == "pending",
                status: source.status,
                returnURL: ReturnURL.adding(
                    [
                        ("source", id), ("client_secret", source.clientSecret),
                        ("livemode", "false"),
                        ("redirect_status", redirect.status == "failed" ? "failed" : "succeeded"),
                    ],
                    to: redirect.returnURL
                )
            )
        }
        guard let intent = intents[id], let redirect = intent.redirect,
            clientSecret == nil || clientSecret == intent.clientSecret
        else { return nil }
        return RedirectVisit(
            id: id,
            title: intent.method?.type ?? "payment",
            amount: Self.display(intent.amount, intent.currency),
            isOpen: intent.status == "requires_action",
            status: intent.status,
            returnURL: ReturnURL.adding(
                [
                    ("payment_intent", id), ("payment_intent_client_secret", intent.clientSecret),
                    ("redirect_status", redirect.status == "failed" ? "failed" : "succeeded"),
                ],
                to: redirect.returnURL
            )
        )
    }

    /// The customer pressed a button; pressing again changes nothing.
    ///
    /// - Returns: What the page shows now.
    mutating func decide(_ id: String, authorised: Bool, reason: String?) -> RedirectVisit? {
        if sources[id]?.status == "pending" {
            let failure = ["user_abort", "declined", "processing_error"].first { $0 == reason }
            settleSource(
                id,
                to: authorised ? "chargeable" : "failed",
                failureReason: failure ?? "declined"
            )
        } else if intents[id]?.status == "requires_action" {
            if authorised {
                authoriseIntent(id)
            } else {
                failIntent(
                    id,
                    code: "payment_intent_authentication_failure",
                    "The customer did not authorise the payment."
                )
            }
        }
        return visit(id, clientSecret: nil)
    }

    /// `10.99 EUR`; currencies without a smaller unit are left alone.
    private static func display(_ amount: Int?, _ currency: String?) -> String {
        guard let amount, let currency else { return "no fixed amount" }
        let code = currency.uppercased()
        if ["JPY", "KRW", "VND", "CLP", "XAF", "XOF", "XPF"].contains(code) {
            return "\(amount) \(code)"
        }
        let cents = amount % 100
        return "\(amount / 100).\(cents < 10 ? "0" : "")\(cents) \(code)"
    }
}
