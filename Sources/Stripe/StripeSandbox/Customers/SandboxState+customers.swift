import HTTPTypes
import NIOCore

extension SandboxState {
    private static let customerParameters: Set<String> = [
        "address", "description", "email", "expand", "invoice_settings", "metadata", "name",
        "phone", "preferred_locales", "shipping", "source",
    ]

    /// `/v1/customers`, `/v1/customers/{id}` and what is below: `sources` and `payment_methods`.
    mutating func routeCustomers(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count, call.segment(1)) {
        case (.post, 1, _): return try createCustomer(call)
        case (.get, 1, _): return try listCustomers(call)
        case (.get, 2, "search"):
            let (table, paths) = (customers, call.form.list("expand"))
            return try table.search(call) { $0.json(expansion(of: $0, paths)) }
        default: break
        }
        let customer = try customers.found(call)
        let id = customer.id
        if customer.isDeleted, call.method != .get || call.segments.count > 2 {
            throw APIError.noSuch("customer", id)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): return reply(customer, call)
        case (.post, 2, _): return try updateCustomer(call, customer)
        case (.delete, 2, _): return deleteCustomer(customer)
        case (_, _, "sources"), (_, _, "cards"): return try routeSources(call, of: customer)
        case (.get, 3, "payment_methods"):
            try call.form.allow(Self.methodFilters)
            return try listMethods(call, of: id)
        case (.get, 4, "payment_methods"):
            let name = call.segment(3)
            let method = savedMethods(of: customer).first { $0.id == name }
            guard let method else {
                throw APIError.noSuch("PaymentMethod", name, param: "payment_method")
            }
            return APIReply(body: methodJSON(method, call))
        default: throw Self.unrecognized(call)
        }
    }

    /// Returns the customer with this ID, given as a parameter.
    func resolveCustomer(_ id: String, _ call: APICall) throws(APIError) -> SandboxCustomer {
        guard let customer = customers[id], customer.account == call.account, !customer.isDeleted
        else { throw APIError.noSuch("customer", id, param: "customer", inPath: false) }
        return customer
    }

    private mutating func reply(_ customer: SandboxCustomer, _ call: APICall) -> APIReply {
        APIReply(body: customer.json(expansion(of: customer, call.form.list("expand"))))
    }

    /// Returns the requested expansions of a customer; for a list, the paths start with `data.`.
    mutating func expansion(
        of customer: SandboxCustomer,
        _ paths: [String]
    ) -> SandboxCustomer.Expansion {
        let paths = Set(paths.map { $0.hasPrefix("data.") ? String($0.dropFirst(5)) : $0 })
        var expansion = SandboxCustomer.Expansion()
        if paths.contains("sources") || paths.contains("sources.data") {
            expansion.sources = newestSources(of: customer)
        }
        if paths.contains("default_source") {
            expansion.defaultSource = customer.defaultSource.map { sourceJSON($0) }
        }
        if paths.contains("invoice_settings.default_payment_method") {
            expansion.defaultMethod = defaultMethod(of: customer.id)?.json()
        }
        return expansion
    }

    private mutating func listCustomers(_ call: APICall) throws(APIError) -> APIReply {
        let (table, paths) = (customers, call.form.list("expand"))
        return try table.list(call, by: ["email": { $0.email }]) {
            $0.json(expansion(of: $0, paths))
        }
    }

    private mutating func createCustomer(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow(Self.customerParameters.union(["payment_method"]))
        var customer = SandboxCustomer(
            id: ids.make("cus_", length: 14),
            account: call.account,
            created: nowSeconds
        )
        let defaultMethodID = try read(form, into: &customer)
        // All rejections happen before the customer is created.
        let source = try form["source"].map { name throws(APIError) in
            try attachableSource(name, call)
        }
        let method = try form["payment_method"].map { name throws(APIError) in
            try attachableMethod(name, call)
        }
        if let defaultMethodID, defaultMethodID != form["payment_method"] {
            throw Self.notAttached(defaultMethodID, by: customer.id)
        }
        customers[customer.id] = customer
        emit("customer.created", customer.json(), account: call.account)
        if let source { attach(source, to: customer.id, isAnnounced: false) }
        if let method {
            try attach(method, to: customer.id, call)
            if defaultMethodID != nil { customers[customer.id]?.defaultMethod = method.id }
        }
        return reply(customers[customer.id] ?? customer, call)
    }

    /// Returns a method that can be attached; its errors belong to the request that creates the customer.
    private mutating func attachableMethod(
        _ name: String,
        _ call: APICall
    ) throws(APIError) -> SandboxMethod {
        guard let method = resolveMethod(name, call.account) else {
            throw APIError.noSuch("PaymentMethod", name, param: "payment_method", inPath: false)
        }
        try requireAttachable(method)
        return method
    }

    private mutating func updateCustomer(
        _ call: APICall,
        _ found: SandboxCustomer
    ) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow(Self.customerParameters.union(["default_source"]))
        var customer = found
        if let method = try read(form, into: &customer) {
            customer.defaultMethod = method.isEmpty ? nil : method
            let isKept = savedMethods(of: found).contains { $0.id == method }
            guard method.isEmpty || isKept else { throw Self.notAttached(method, by: found.id) }
        }
        if let source = form["default_source"] {
            customer.defaultSource = try attached(source, customer)
        }
        if let name = form["source"] {
            let source = try attachableSource(name, call)
            // The new Source replaces the default one.
            if let old = customer.defaultSource {
                detach(old, from: customer.id, isAnnounced: false)
            }
            customer.sources = customers[customer.id]?.sources ?? []
            customer.defaultSource = nil
            customers[customer.id] = customer
            attach(source, to: customer.id, isAnnounced: false)
        } else {
            customers[customer.id] = customer
        }
        let changed = customers[customer.id] ?? customer
        emit(
            "customer.updated",
            changed.json(),
            account: customer.account,
            previous: found.differences(from: changed)
        )
        return reply(changed, call)
    }

    private static func notAttached(_ method: String, by customer: String) -> APIError {
        .invalid(
            "The customer does not have a payment method with the ID \(method). The payment method "
                + "must be attached to the customer.",
            code: "resource_missing",
            param: "invoice_settings[default_payment_method]"
        )
    }

    private mutating func deleteCustomer(_ customer: SandboxCustomer) -> APIReply {
        for source in customer.sources { detach(source, from: customer.id, isAnnounced: false) }
        for method in customer.methods { detachMethod(method) }
        emit(
            "customer.deleted",
            (customers[customer.id] ?? customer).json(),
            account: customer.account
        )
        customers[customer.id]?.isDeleted = true
        return APIReply(body: customers[customer.id]?.json() ?? ByteBuffer())
    }

    /// Updates a customer from a request.
    ///
    /// - Returns: `invoice_settings[default_payment_method]`, which the caller must check.
    private func read(
        _ form: Form,
        into customer: inout SandboxCustomer
    ) throws(APIError) -> String? {
        func given(_ path: String..., present: String?) -> String? {
            guard let text = form[path: path] else { return present }
            return text.isEmpty ? nil : text
        }
        customer.name = given("name", present: customer.name)
        customer.email = given("email", present: customer.email)
        customer.phone = given("phone", present: customer.phone)
        customer.description = given("description", present: customer.description)
        customer.metadata = try form.updated(metadata: customer.metadata)
        try customer.address.update(from: form, at: ["address"])
        if form["shipping"] == "" { customer.shipping = nil }
        try form.allow(["address", "name", "phone"], below: ["shipping"])
        if !form.names(below: ["shipping"]).isEmpty {
            var shipping = customer.shipping ?? SandboxCustomer.Shipping()
            shipping.name = given("shipping", "name", present: shipping.name)
            shipping.phone = given("shipping", "phone", present: shipping.phone)
            try shipping.address.update(from: form, at: ["shipping", "address"])
            customer.shipping = shipping
        }
        if form.has("preferred_locales") {
            customer.locales = form.list("preferred_locales").filter { !$0.isEmpty }
        }
        try form.allow(["default_payment_method"], below: ["invoice_settings"])
        return form["invoice_settings", "default_payment_method"]
    }
}
