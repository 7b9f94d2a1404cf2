/// The content of a customer page: one object and the URL the customer returns to.
///
/// The pages are for people with a browser and for tests that click. `GET` shows a page; `POST` decides and redirects
/// to the shop with the parameters that Stripe adds to the return URL. The pages need no key, only the client secret
/// in their URL. A repeated or late click changes nothing and still redirects.
struct CustomerPageContent {
    let id: String
    let title: String
    let amount: String
    /// The amount that a transfer still lacks, in the smallest unit.
    var missing: Int?
    /// Whether an action is still possible.
    let isOpen: Bool
    let status: String
    /// The URL the customer returns to; `nil` for methods without one.
    let returnURL: String?
    /// The details to show: bank account, reference, remaining attempts.
    var facts: [(label: String, text: String)] = []
}

extension SandboxState {
    /// Returns the page content of a Source or intent; `nil` for an unknown ID or a wrong secret.
    func pageContent(_ id: String, clientSecret: String?) -> CustomerPageContent? {
        if let source = sources[id] {
            return clientSecret ?? source.clientSecret == source.clientSecret
                ? Self.pageContent(source) : nil
        }
        if let intent = intents[id] {
            return clientSecret ?? intent.clientSecret == intent.clientSecret
                ? Self.pageContent(intent) : nil
        }
        guard let setup = setups[id],
            clientSecret ?? setup.clientSecret == setup.clientSecret
        else { return nil }
        return Self.pageContent(setup, title: "setup", amount: "Save for later")
    }

    private static func pageContent(_ source: SandboxSource) -> CustomerPageContent {
        let state = source.redirect?.status == "failed" ? "failed" : "succeeded"
        var content = CustomerPageContent(
            id: source.id,
            title: source.type,
            amount: display(source.amount, source.currency),
            isOpen: source.status == "pending"
                || (source.receiver != nil && source.status == "chargeable" && source.isReusable),
            status: source.status,
            returnURL: source.redirect.map { redirect in
                ReturnURL.adding(
                    [
                        ("source", source.id), ("client_secret", source.clientSecret),
                        ("livemode", "false"), ("redirect_status", state),
                    ],
                    to: redirect.returnURL
                )
            }
        )
        if let receiver = source.receiver {
            content.missing = max(1, (source.amount ?? 1000) - receiver.available)
            content.facts = [
                ("Pay to", receiver.address), ("Received", String(receiver.received)),
            ]
        }
        if let verification = source.verification {
            content.facts = [("Attempts left", String(verification.attemptsRemaining))]
        }
        return content
    }

    private static func pageContent(_ intent: SandboxIntent) -> CustomerPageContent? {
        let amount = display(intent.amount, intent.currency)
        var content = pageContent(intent, title: "payment", amount: amount)
        if case .bankTransfer = intent.nextAction {
            content?.missing = max(1, intent.amount - intent.fundedAmount)
            content?.facts = [
                ("Pay to", "DE89370400440532013000"), ("Reference", String(intent.id.suffix(12))),
                ("Received", String(intent.fundedAmount)),
            ]
        }
        return content
    }

    /// Returns the content for an intent; `nil` while its customer has no action and had none.
    private static func pageContent<Object: ConfirmableObject>(
        _ object: Object,
        title: String,
        amount: String
    ) -> CustomerPageContent? {
        guard object.nextAction != nil || object.lastRedirect != nil else { return nil }
        var content = CustomerPageContent(
            id: object.id,
            title: object.method?.type ?? title,
            amount: amount,
            isOpen: object.status == "requires_action",
            status: object.status,
            returnURL: object.lastRedirect.map { redirect in
                ReturnURL.adding(
                    [
                        (Object.parameter, object.id),
                        (Object.parameter + "_client_secret", object.clientSecret),
                        (
                            "redirect_status",
                            redirect.status == "failed" ? "failed" : "succeeded"
                        ),
                    ],
                    to: redirect.returnURL
                )
            }
        )
        if case .microdeposits = object.nextAction {
            content.facts = [("Attempts left", String(object.attemptsRemaining))]
        }
        return content
    }

    /// Formats an amount, for example `10.99 EUR`; currencies without a smaller unit are not divided.
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

extension SandboxState {
    /// Handles a click on a redirect page; a repeated click changes nothing.
    ///
    /// - Returns: The current page content.
    mutating func decide(_ id: String, authorised: Bool, reason: String?) -> CustomerPageContent? {
        if let source = sources[id], source.status == "pending" {
            if let receiver = source.receiver {
                // A transfer cannot be declined: the customer leaves without paying.
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
        } else {
            decide(\.intents, id, authorised: authorised)
            decide(\.setups, id, authorised: authorised)
        }
        return pageContent(id, clientSecret: nil)
    }

    /// Handles a payment made on a page.
    ///
    /// - Returns: The current page content; `nil` when the object accepts no transfer.
    mutating func transfer(_ id: String, amount: Int) -> CustomerPageContent? {
        if sources[id]?.receiver != nil {
            pay(id, amount: amount, isPending: false)
        } else if case .bankTransfer = intents[id]?.nextAction {
            fundIntent(id, amount: amount)
        } else {
            return nil
        }
        return pageContent(id, clientSecret: nil)
    }
}

extension SandboxState {
    /// Returns the call for the account that owns the object, because pages do not have accounts.
    func owned(_ call: APICall, _ id: String) -> APICall {
        var call = call
        call.account = sources[id]?.account ?? intents[id]?.account ?? setups[id]?.account
        return call
    }
}

/// Builds the URL a customer returns to.
enum ReturnURL {
    /// Adds parameters to a URL before its fragment; existing names are replaced, as documented.
    static func adding(_ parameters: [(name: String, value: String)], to url: String) -> String {
        let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let pieces = (parts.first ?? "").split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let reserved = Set(parameters.map(\.name))
        var items = (pieces.dropFirst().first ?? "").split(separator: "&").filter { item in
            !reserved.contains(String(item.prefix { $0 != "=" }))
        }
        items += parameters.map { "\($0.name)=\($0.value)" }
        let fragment = parts.dropFirst().first.map { "#" + $0 } ?? ""
        return (pieces.first ?? "") + "?" + items.joined(separator: "&") + fragment
    }
}
