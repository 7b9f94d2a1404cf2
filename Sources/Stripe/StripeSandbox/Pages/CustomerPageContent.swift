/// What a page shows: one object and where its customer goes next.
///
/// Pages are for people with a browser and for tests that click: `GET` shows, `POST` decides and sends back to the
/// shop, with the parameters Stripe adds to the return URL. They ask for no key, only for the client secret in their
/// address. Pressing twice, or too late, changes nothing and leads back all the same.
struct CustomerPageContent {
    let id: String
    let title: String
    let amount: String
    /// What a transfer has still to bring, in the smallest unit.
    var missing: Int?
    /// Whether there is something left to do.
    let isOpen: Bool
    let status: String
    /// Where the customer comes back to; nil for methods that know no way back.
    let returnURL: String?
    /// What the customer has to know: a bank account, a reference, attempts left.
    var facts: [(label: String, text: String)] = []
}

extension SandboxState {
    /// The page of a source or intent; nil when there is none, or the secret given is wrong.
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

    /// An intent of either kind; nil while its customer has nothing to do and has done nothing.
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

extension SandboxState {
    /// The customer pressed a button of a redirect page; pressing again changes nothing.
    ///
    /// - Returns: What the page shows now.
    mutating func decide(_ id: String, authorised: Bool, reason: String?) -> CustomerPageContent? {
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
        } else {
            decide(\.intents, id, authorised: authorised)
            decide(\.setups, id, authorised: authorised)
        }
        return pageContent(id, clientSecret: nil)
    }

    /// The customer sent money from a page.
    ///
    /// - Returns: What the page shows now; nil when nothing takes money there.
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
    /// The same call made for the account an object belongs to: pages know no accounts.
    func owned(_ call: APICall, _ id: String) -> APICall {
        var call = call
        call.account = sources[id]?.account ?? intents[id]?.account ?? setups[id]?.account
        return call
    }
}

/// Builds the address a customer comes back to.
enum ReturnURL {
    /// Adds parameters to a URL, in front of its fragment; names already present are overwritten, as documented.
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
