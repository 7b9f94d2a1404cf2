import HTTPTypes
import JSONText
import NIOCore

/// The cards and reusable Sources of customers, from before PaymentMethods.
///
/// *Source*: <https://docs.stripe.com/api/cards>, <https://docs.stripe.com/sources/customers>.
extension SandboxState {
    /// `/v1/customers/{id}/sources` and `…/sources/{source}`.
    mutating func routeSources(
        _ call: APICall,
        of customer: SandboxCustomer
    ) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 3):
            try call.form.allow(["expand", "metadata", "source", "validate"])
            let name = try call.form.required("source")
            let metadata = try call.form.updated(metadata: [:])
            let source = try attachableSource(name, call)
            if !metadata.isEmpty { sources[source]?.metadata = metadata }
            attach(source, to: customer.id)
            return APIReply(body: sourceJSON(source))
        case (.get, 3): return try listSources(call, customer)
        case (.get, 4):
            return APIReply(body: sourceJSON(try attached(call.segment(3), customer)))
        case (.post, 4): return try updateSource(call, customer)
        case (.delete, 4):
            let source = try attached(call.segment(3), customer)
            detach(source, from: customer.id)
            guard sources[source]?.isCard == true else { return APIReply(body: sourceJSON(source)) }
            return APIReply(
                body: JSONWriter.object { writer in
                    writer.field("id", source)
                    writer.field("object", "card")
                    writer.field("customer", customer.id)
                    writer.field("deleted", true)
                }
            )
        default: throw Self.unrecognized(call)
        }
    }

    /// Creates a card from one of Stripe's documented test tokens; `nil` for any other text.
    mutating func cardOfToken(_ token: String, _ account: String?) -> String? {
        guard let card = TestCards.card(token: token) else { return nil }
        let id = ids.make("card_")
        var source = SandboxSource(
            id: id,
            account: account,
            type: "card",
            flow: "none",
            usage: "reusable",
            amount: nil,
            currency: nil,
            clientSecret: ids.make("card_secret_"),
            created: nowSeconds,
            details: []
        )
        source.isCard = true
        source.card = card
        source.outcome = ChargeOutcome(cardNumber: card.number)
        source.status = "chargeable"
        sources[id] = source
        return id
    }

    /// Returns the Source with this ID, or the card of a token.
    mutating func resolveSource(_ name: String, _ account: String?) throws(APIError) -> String {
        if let card = cardOfToken(name, account) { return card }
        guard let source = sources[name], source.account == account else {
            let kind = name.hasPrefix("tok_") ? "token" : "source"
            throw APIError.noSuch(kind, name, param: "source", inPath: false)
        }
        return name
    }

    /// Returns a Source that can be attached.
    ///
    /// Checking first ensures that a rejected request changes nothing.
    mutating func attachableSource(_ name: String, _ call: APICall) throws(APIError) -> String {
        let id = try resolveSource(name, call.account)
        guard let source = sources[id] else { return id }
        if source.isCard, source.card?.isRejectedOnAttach == true,
            case .declined(let failure) = source.outcome
        {
            throw APIError.declined(failure)
        }
        guard ["pending", "chargeable"].contains(source.status), source.customer == nil else {
            throw APIError.invalid(
                source.customer == nil
                    ? "The source you provided is \(source.status) and cannot be attached."
                    : "This source has already been attached to a customer.",
                code: "payment_method_unexpected_state",
                param: "source"
            )
        }
        guard source.isReusable else {
            throw APIError.invalid(
                "You cannot attach a source that can be used only once; pass it to a charge.",
                code: "invalid_source_usage",
                param: "source"
            )
        }
        return id
    }

    /// Attaches a Source to a customer; the first one becomes the default.
    ///
    /// `isAnnounced`: whether a new default emits an update of the customer.
    mutating func attach(
        _ id: String,
        to customer: String,
        isAnnounced: Bool = true
    ) {
        guard let source = sources[id], let before = customers[customer] else { return }
        sources[id]?.customer = customer
        sources[id]?.changed()
        customers[customer]?.sources.append(id)
        if before.defaultSource == nil { customers[customer]?.defaultSource = id }
        emit("customer.source.created", sourceJSON(id), account: source.account)
        guard isAnnounced else { return }
        announceDefault(of: customer, before)
    }

    private mutating func announceDefault(of id: String, _ before: SandboxCustomer) {
        guard let customer = customers[id], customer.defaultSource != before.defaultSource else {
            return
        }
        emit(
            "customer.updated",
            customer.json(),
            account: customer.account,
            previous: before.differences(from: customer)
        )
    }

    /// Detaches a Source from its customer, which consumes it.
    mutating func detach(_ id: String, from customer: String, isAnnounced: Bool = true) {
        guard let before = customers[customer] else { return }
        customers[customer]?.sources.removeAll { $0 == id }
        let next = customers[customer]?.sources.first
        if before.defaultSource == id { customers[customer]?.defaultSource = next }
        if before.defaultMethod == id { customers[customer]?.defaultMethod = nil }
        sources[id]?.customer = nil
        sources[id]?.changed()
        settleSource(id, to: "consumed")
        emit("customer.source.deleted", sourceJSON(id), account: sources[id]?.account)
        if isAnnounced { announceDefault(of: customer, before) }
    }

    func attached(_ id: String, _ customer: SandboxCustomer) throws(APIError) -> String {
        guard customer.sources.contains(id) else { throw APIError.noSuch("source", id) }
        return id
    }

    private mutating func listSources(
        _ call: APICall,
        _ customer: SandboxCustomer
    ) throws(APIError) -> APIReply {
        try call.form.allow(["ending_before", "expand", "limit", "object", "starting_after"])
        let kind = try call.form.choice("object", ["bank_account", "card", "source"])
        let listed = customer.sources.filter { id in
            kind.map { $0 == (sources[id]?.isCard == true ? "card" : "source") } ?? true
        }
        let pages = listed.map { sourceJSON($0) }
        return try ListPage(call, kind: "source") { listed.firstIndex(of: $0) }
            .reply(pages.indices) { pages[$0] }
    }

    /// Renders the ten newest Sources of a customer, for `expand[]=sources`.
    mutating func newestSources(of customer: SandboxCustomer) -> ByteBuffer {
        let newest = customer.sources.suffix(10).reversed().map { sourceJSON($0) }
        return .object { writer in
            writer.field("object", "list")
            writer.array("data") { writer in
                for source in newest { writer.raw(source.readableBytesView) }
            }
            writer.field("has_more", customer.sources.count > newest.count)
            writer.field("total_count", customer.sources.count)
            writer.field("url", "/v1/customers/\(customer.id)/sources")
        }
    }

    /// Handles `POST /v1/customers/{id}/sources/{source}`: updates a card or the owner of a Source.
    private mutating func updateSource(
        _ call: APICall,
        _ customer: SandboxCustomer
    ) throws(APIError) -> APIReply {
        let id = try attached(call.segment(3), customer)
        guard var source = sources[id] else { throw APIError.noSuch("source", id) }
        let form = call.form
        let address = SandboxSource.cardAddress
        try form.allow(
            source.isCard
                ? Set(address.map(\.parameter)).union([
                    "exp_month", "exp_year", "expand", "metadata", "name",
                ])
                : ["expand", "metadata", "owner"]
        )
        let before = source
        source.metadata = try form.updated(metadata: source.metadata)
        if source.isCard {
            if let name = form["name"] { source.owner.name = name.isEmpty ? nil : name }
            for (parameter, field) in address {
                guard let text = form[parameter] else { continue }
                source.owner.address[field] = text.isEmpty ? nil : text
            }
            try source.card?.update(from: form, at: [])
        } else {
            source.owner.update(from: form)
        }
        source.changed()
        sources[id] = source
        emit(
            "customer.source.updated",
            sourceJSON(id),
            account: source.account,
            previous: JSONWriter.object { writer in
                if before.metadata != source.metadata { writer.field("metadata", before.metadata) }
            }
        )
        return APIReply(body: sourceJSON(id))
    }
}
