import JSONText
import NIOCore
import SafeNumbers

extension SandboxState {
    /// `POST /v1/sources`.
    mutating func createSource(_ call: APICall) throws(APIError) -> APIReply {
        guard sources.count < Self.sourcesMax else {
            throw APIError(
                status: 503,
                type: "api_error",
                message: "The sandbox holds \(Self.sourcesMax) sources; restart it."
            )
        }
        let request = try SourceRequest(call)
        let form = call.form
        let id = ids.make("src_")
        let clientSecret = ids.make("src_client_secret_")
        let pageURL = "\(call.base)/redirect/\(id)?client_secret=\(clientSecret)"
        let card = try card(for: request, call)
        var source = SandboxSource(
            id: id,
            account: call.account,
            type: request.type,
            flow: request.flow,
            usage: request.usage,
            amount: request.amount,
            currency: request.currency,
            clientSecret: clientSecret,
            created: nowSeconds,
            details: request.kind.details(
                of: request.type,
                form: form,
                card: card,
                pageURL: pageURL
            ),
            owner: request.owner,
            metadata: try form.updated(metadata: [:])
        )
        source.card = card
        source.iban = form["sepa_debit", "iban"]
        source.statementDescriptor = form["statement_descriptor"]
        source.order = Self.order(form, request.currency)
        source.notifiesManually = form["mandate", "notification_method"] == "manual"
        source.outcome =
            ChargeOutcome(ownerName: request.owner.name)
            ?? card.map { ChargeOutcome(cardNumber: $0.number) }
            ?? ChargeOutcome(iban: form[request.type, "iban"] ?? "")
        if let customer = form["customer"] { _ = try resolveCustomer(customer, call) }
        begin(
            &source,
            returnURL: request.returnURL,
            refundMethod: form["receiver", "refund_attributes_method"],
            pageURL: pageURL
        )
        sources[id] = source
        recordStatus(id, from: nil, to: source.status)
        if source.status == "chargeable" {
            emit("source.chargeable", sourceJSON(id), account: call.account)
        }
        settleByName(source)
        if let customer = form["customer"], source.isReusable { attach(id, to: customer) }
        return sourceReply(call, id)
    }

    /// Initialises a new Source: the data for its flow, the first status and the expiry.
    mutating func begin(
        _ source: inout SandboxSource,
        returnURL: String?,
        refundMethod: String? = nil,
        pageURL: String
    ) {
        if let returnURL {
            source.redirect = SandboxRedirect(url: pageURL, returnURL: returnURL)
        }
        if source.type == "three_d_secure", source.card?.security == "not_supported" {
            source.redirect?.status = "not_required"
            source.status = "chargeable"
        }
        switch source.flow {
        case "receiver":
            source.receiver = SandboxReceiver(
                address: source.type == "multibanco"
                    ? "12345-123456789" : "110000000-test_52796e3294dc",
                refundMethod: refundMethod ?? "email"
            )
        case "code_verification":
            source.verification = SandboxVerification()
        case "none" where source.type != "wechat":
            source.status = "chargeable"
        default: break
        }
        setEnd(of: &source)
    }

    /// Schedules the change of a test-mode name, selected by the owner's email address.
    ///
    /// | address | effect after the automatic delay |
    /// |---|---|
    /// | `…_chargeable@example.com`, `…_failed@…`, `…_canceled@…` | the Source changes to that status |
    /// | `amount_2500@…`, for a receiver | 25.00 arrive |
    /// | `…_chargeable@…`, `…fill_now…@…`, for Multibanco | the full amount arrives, after three seconds |
    private mutating func settleByName(_ source: SandboxSource) {
        guard source.status == "pending", let email = source.owner.email else { return }
        let local = email.prefix { $0 != "@" }
        if source.type == "multibanco", local.hasSuffix("_chargeable") || local.contains("fill_now")
        {
            // Stripe's test mode takes three seconds.
            schedule(after: 3000, .paySource(source.id, amount: source.amount ?? 1))
        } else if source.receiver != nil, local.hasPrefix("amount_"),
            let amount = Int(decimal: local.dropFirst("amount_".count)),
            Form.amountRange.contains(amount)
        {
            scheduleAutomatic(.paySource(source.id, amount: amount))
        } else {
            for (suffix, status) in [
                ("_chargeable", "chargeable"), ("_failed", "failed"), ("_canceled", "canceled"),
            ] where email.hasSuffix("\(suffix)@example.com") {
                scheduleAutomatic(.settleSource(source.id, status: status))
            }
        }
    }

    /// Returns the card of a card Source, or the card that a 3D Secure Source authenticates.
    private func card(
        for request: SourceRequest,
        _ call: APICall
    ) throws(APIError) -> SandboxCard? {
        switch request.type {
        case "card":
            guard let token = call.form["token"] else {
                return try SandboxCard(path: ["card"], call.form)
            }
            guard let card = TestCards.card(token: token) else {
                throw APIError.noSuch("token", token, param: "token", inPath: false)
            }
            return card
        case "three_d_secure":
            guard let id = call.form["three_d_secure", "card"] else {
                throw APIError.missing("three_d_secure[card]")
            }
            guard let source = sources[id], source.account == call.account, source.type == "card"
            else {
                throw APIError.noSuch(
                    "source",
                    id,
                    param: "three_d_secure[card]",
                    inPath: false
                )
            }
            return source.card
        default: return nil
        }
    }

    /// Renders `source_order`; `nil` when it is not given.
    static func order(_ form: Form, _ currency: String?) -> [UInt8]? {
        let items = form.items("source_order", "items")
        guard !items.isEmpty else { return nil }
        return JSONWriter.object { writer in
            writer.field(
                "amount",
                items.reduce(0) { sum, item in
                    sum.addingSaturating(item["amount"].flatMap { Int(decimal: $0) } ?? 0)
                }
            )
            writer.field("currency", currency ?? "eur")
            writer.array("items") { writer in
                for item in items {
                    writer.object { writer in
                        writer.field("amount", item["amount"].flatMap { Int(decimal: $0) })
                        writer.field("currency", item["currency"] ?? currency)
                        writer.field("description", item["description"])
                        if let quantity = item["quantity"].flatMap({ Int(decimal: $0) }) {
                            writer.field("quantity", quantity)
                        }
                        writer.field("type", item["type"] ?? "sku")
                    }
                }
            }
        }
    }

    /// Creates many pending Sources.
    mutating func bulkSources(
        count: Int,
        type: String,
        kind: SourceKind,
        amount: Int,
        account: String?,
        base: String
    ) -> [String] {
        let details = kind.details(
            of: type,
            form: Form(),
            card: SandboxCard(number: "4242424242424242")
        )
        var made: [String] = []
        made.reserveCapacity(count)
        sources.reserveCapacity(sources.count + count)
        for _ in 0..<count {
            var source = SandboxSource(
                id: ids.make("src_"),
                account: account,
                type: type,
                flow: kind.flow,
                usage: kind.usage,
                amount: kind.usage == "reusable" ? nil : amount,
                currency: kind.currencies.first ?? "eur",
                clientSecret: ids.make("src_client_secret_"),
                created: nowSeconds,
                details: details,
                owner: SandboxOwner(name: "Jenny Rosen", email: "jenny.rosen@example.com")
            )
            begin(
                &source,
                returnURL: "https://example.com/return",
                pageURL: "\(base)/redirect/\(source.id)?client_secret=\(source.clientSecret)"
            )
            made.append(source.id)
            recordStatus(source.id, from: nil, to: source.status)
            sources[source.id] = source
        }
        return made
    }
}
