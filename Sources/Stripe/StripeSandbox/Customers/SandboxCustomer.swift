import HTTPTypes
import NIOCore

/// A Customer, as far as reusable sources need one.
struct SandboxCustomer: Codable {
    let id: String
    let account: String?
    let created: Int
    var name: String?
    var email: String?
    var description: String?
    var metadata: [String: String] = [:]
    /// The sources attached, oldest first.
    var sources: [String] = []
    var defaultSource: String?
    var isDeleted = false

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "customer")
                if isDeleted {
                    writer.field("deleted", true)
                    return
                }
                writer.nulls("address")
                writer.field("balance", 0)
                writer.field("created", created)
                writer.nulls("currency")
                writer.field("default_source", defaultSource)
                writer.field("delinquent", false)
                writer.field("description", description)
                writer.nulls("discount")
                writer.field("email", email)
                writer.field("livemode", false)
                writer.field("metadata", metadata)
                writer.field("name", name)
                writer.nulls("phone", "shipping")
            }
        )
    }
}

extension SandboxState {
    private static let customerParameters: Set<String> = [
        "address", "default_source", "description", "email", "expand", "metadata", "name", "phone",
        "shipping", "source", "payment_method", "preferred_locales", "invoice_settings",
    ]

    /// `/v1/customers`, `/v1/customers/{id}` and `/v1/customers/{id}/sources[/{source}]`.
    mutating func routeCustomers(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createCustomer(call)
        case (.get, 1):
            return try ListPage(call, kind: "customer") { customers.number(of: $0) }
                .reply(customers.all) { number in
                    customers[number].account == call.account && !customers[number].isDeleted
                } json: {
                    customers[$0].json()
                }
        default: break
        }
        let id = call.segment(1)
        guard call.segments.count > 1, let customer = customers[id],
            customer.account == call.account
        else { throw APIError.noSuch("customer", id) }
        if customer.isDeleted, call.method != .get { throw APIError.noSuch("customer", id) }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): return APIReply(body: customer.json())
        case (.post, 2, _): return try updateCustomer(call, customer)
        case (.delete, 2, _): return deleteCustomer(customer)
        case (.post, 3, "sources"):
            let source = try call.form.required("source")
            guard sources[source]?.account == call.account else {
                throw APIError.noSuch("source", source, param: "source", inPath: false)
            }
            try attach(source, to: id)
            return APIReply(body: sourceJSON(source))
        case (.get, 3, "sources"): return try listSources(call, customer)
        case (.get, 4, "sources"):
            return APIReply(body: sourceJSON(try attached(call.segment(3), customer)))
        case (.delete, 4, "sources"):
            let source = try attached(call.segment(3), customer)
            detach(source, from: id)
            return APIReply(body: sourceJSON(source))
        default: throw Self.unrecognized(call)
        }
    }

    private mutating func createCustomer(_ call: APICall) throws(APIError) -> APIReply {
        try call.form.allow(Self.customerParameters)
        var customer = SandboxCustomer(
            id: ids.make("cus_", length: 14),
            account: call.account,
            created: nowSeconds
        )
        try read(call.form, into: &customer)
        let source = call.form["source"]
        if let source { try requireAttachable(source, call) }
        customers[customer.id] = customer
        emit("customer.created", customer.json(), account: call.account)
        if let source { try attach(source, to: customer.id) }
        return APIReply(body: customers[customer.id]?.json() ?? ByteBuffer())
    }

    private mutating func updateCustomer(
        _ call: APICall,
        _ found: SandboxCustomer
    ) throws(APIError) -> APIReply {
        try call.form.allow(Self.customerParameters)
        var customer = found
        try read(call.form, into: &customer)
        if let source = call.form["default_source"] {
            customer.defaultSource = try attached(source, customer)
        }
        if let source = call.form["source"] {
            try requireAttachable(source, call)
            // The new source takes the place of the default one.
            if let old = customer.defaultSource { detach(old, from: customer.id) }
            customer.sources = customers[customer.id]?.sources ?? []
            customer.defaultSource = nil
            customers[customer.id] = customer
            try attach(source, to: customer.id)
        } else {
            customers[customer.id] = customer
        }
        let json = customers[customer.id]?.json() ?? ByteBuffer()
        emit(
            "customer.updated",
            json,
            account: customer.account,
            previous: JSONWriter.object { writer in
                writer.field("default_source", found.defaultSource)
                writer.field("metadata", found.metadata)
            }
        )
        return APIReply(body: json)
    }

    private mutating func deleteCustomer(_ customer: SandboxCustomer) -> APIReply {
        for source in customer.sources { detach(source, from: customer.id) }
        customers[customer.id]?.isDeleted = true
        emit("customer.deleted", customer.json(), account: customer.account)
        return APIReply(body: customers[customer.id]?.json() ?? ByteBuffer())
    }

    private func read(_ form: Form, into customer: inout SandboxCustomer) throws(APIError) {
        if let text = form["name"] { customer.name = text.isEmpty ? nil : text }
        if let text = form["email"] { customer.email = text.isEmpty ? nil : text }
        if let text = form["description"] { customer.description = text.isEmpty ? nil : text }
        customer.metadata = try form.updated(metadata: customer.metadata)
    }

    /// Gives a customer a source to keep.
    mutating func attach(_ id: String, to customer: String) throws(APIError) {
        guard let source = sources[id] else { return }
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
        sources[id]?.customer = customer
        sources[id]?.changed()
        customers[customer]?.sources.append(id)
        if customers[customer]?.defaultSource == nil { customers[customer]?.defaultSource = id }
        emit("customer.source.created", sourceJSON(id), account: source.account)
    }

    /// Takes a source from its customer, which uses it up.
    private mutating func detach(_ id: String, from customer: String) {
        customers[customer]?.sources.removeAll { $0 == id }
        let next = customers[customer]?.sources.first
        if customers[customer]?.defaultSource == id { customers[customer]?.defaultSource = next }
        sources[id]?.customer = nil
        sources[id]?.changed()
        settleSource(id, to: "consumed")
        emit("customer.source.deleted", sourceJSON(id), account: sources[id]?.account)
    }

    /// Checked before the customer is made: a refusal must not leave one behind.
    private func requireAttachable(_ id: String, _ call: APICall) throws(APIError) {
        guard let source = sources[id], source.account == call.account else {
            throw APIError.noSuch("source", id, param: "source", inPath: false)
        }
        guard source.isReusable, source.customer == nil,
            ["pending", "chargeable"].contains(source.status)
        else {
            throw APIError.invalid(
                "The source \(id) cannot be attached: it is \(source.usage) and \(source.status).",
                code: "payment_method_unexpected_state",
                param: "source"
            )
        }
    }

    private func attached(_ id: String, _ customer: SandboxCustomer) throws(APIError) -> String {
        guard customer.sources.contains(id) else { throw APIError.noSuch("source", id) }
        return id
    }

    private mutating func listSources(
        _ call: APICall,
        _ customer: SandboxCustomer
    ) throws(APIError) -> APIReply {
        let pages = customer.sources.map { sourceJSON($0) }
        return try ListPage(call, kind: "source") { customer.sources.firstIndex(of: $0) }
            .reply(pages.indices) { pages[$0] }
    }
}
