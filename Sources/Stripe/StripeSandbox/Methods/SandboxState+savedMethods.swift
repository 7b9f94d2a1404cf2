import NIOCore

/// Saved PaymentMethods of customers, and the checks before their use.
extension SandboxState {
    static let methodFilters: Set<String> = [
        "allow_redisplay", "ending_before", "expand", "limit", "starting_after", "type",
    ]

    /// Lists the methods of a customer, or all methods of the account.
    ///
    /// The list includes a customer's cards and card Sources, to support migration.
    /// *Source*: <https://docs.stripe.com/payments/payment-methods/transitioning>.
    func listMethods(_ call: APICall, of customer: String?) throws(APIError) -> APIReply {
        let form = call.form
        if let type = form["type"], MethodType.all[type] == nil {
            throw APIError.invalid("Invalid type: \(type)", param: "type")
        }
        var listed: [SandboxMethod]
        if let customer {
            listed = savedMethods(of: try resolveCustomer(customer, call))
        } else {
            listed = methods.all.map { methods[$0] }.filter { $0.account == call.account }
        }
        listed.removeAll { method in
            form["type"].map { $0 != method.type } ?? false
                || form["allow_redisplay"].map { $0 != method.allowRedisplay } ?? false
        }
        return try ListPage(call, kind: "PaymentMethod") { id in
            listed.firstIndex { $0.id == id }
        }
        .reply(listed.indices) { methodJSON(listed[$0], call) }
    }

    /// Returns the saved methods of a customer, oldest first.
    func savedMethods(of customer: SandboxCustomer) -> [SandboxMethod] {
        let cards = customer.sources.compactMap { sources[$0].flatMap { SandboxMethod($0) } }
        let kept = customer.methods.compactMap { methods[$0] }
        return (cards.filter { $0.type == "card" } + kept).enumerated()
            .sorted { ($0.element.created, $0.offset) < ($1.element.created, $1.offset) }
            .map(\.element)
    }

    /// Attaches a method to a customer.
    ///
    /// Errors: a method that was used up, is already attached, has a type that cannot be attached, or is a declined
    /// card.
    mutating func attach(
        _ method: SandboxMethod,
        to customer: String,
        _ call: APICall
    ) throws(APIError) {
        _ = try resolveCustomer(customer, call)
        try requireAttachable(method)
        save(method.id, for: customer)
    }

    /// Throws an error for a method that ``attach(_:to:_:)-(SandboxMethod,_,_)`` rejects, regardless of the customer.
    func requireAttachable(_ method: SandboxMethod) throws(APIError) {
        guard method.customer == nil else {
            throw APIError.invalid(
                "The payment method you provided has already been attached to a customer.",
                code: "payment_method_unexpected_state"
            )
        }
        guard !method.isSpent, methods[method.id] != nil else { throw Self.spent }
        guard method.isReusable else {
            throw APIError.invalid(
                "PaymentMethods of type \(method.type) cannot be attached to a Customer.",
                code: "payment_method_unexpected_state"
            )
        }
        if method.card?.isRejectedOnAttach == true, case .declined(let failure) = method.outcome {
            throw APIError.declined(failure)
        }
    }

    private static let spent = APIError.invalid(
        "This PaymentMethod was previously used without being attached to a Customer or was detached "
            + "from a Customer, and may not be used again.",
        code: "payment_method_unexpected_state"
    )

    /// Saves a method for a customer and emits the event.
    private mutating func save(_ id: String, for customer: String) {
        guard var method = methods[id], customers[customer] != nil else { return }
        method.customer = customer
        methods[id] = method
        customers[customer]?.methods.append(id)
        emit("payment_method.attached", method.json(), account: method.account)
    }

    /// Records the use of a method by a confirmed intent: it is saved for the customer or used up.
    ///
    /// - Parameters:
    ///   - method: The intent's method.
    ///   - customer: The intent's customer.
    ///   - isSetUp: Whether the customer agreed to further payments; `nil` when this was not requested.
    mutating func recordUse(of method: SandboxMethod, by customer: String?, isSetUp: Bool?) {
        guard let found = methods[method.id], !found.isSpent else { return }
        if found.customer != nil || (isSetUp != nil && customer != nil && found.isReusable) {
            methods[method.id]?.isSetUp = found.isSetUp || isSetUp == true
            if found.customer == nil, let customer { save(method.id, for: customer) }
            return
        }
        // A setup without a customer can be attached later.
        methods[method.id]?.isSetUp = isSetUp == true
        methods[method.id]?.isSpent = isSetUp == nil || !found.isReusable
    }

    /// Rejects a method of another customer, and one that was used up.
    ///
    /// *Source*: Stripe's error messages of version 2026-08-26.dahlia.
    func requireUsable<Object: ConfirmableObject>(
        _ method: SandboxMethod,
        for object: Object
    ) throws(APIError) {
        if method.isSpent {
            throw APIError.invalid(
                "The provided PaymentMethod was previously used with a PaymentIntent without "
                    + "Customer attachment, shared with a connected account without Customer "
                    + "attachment, or was detached from a Customer. It may not be used again. To use "
                    + "a PaymentMethod multiple times, you must attach it to a Customer first.",
                code: "payment_method_unexpected_state",
                param: "payment_method"
            )
        }
        guard let owner = method.customer, owner != object.customer else { return }
        guard let customer = object.customer else {
            let isSetup = Object.parameter == SandboxSetup.parameter
            let named =
                isSetup
                ? "payment method supplied (\(method.id))"
                : "`payment_method` parameter supplied \(method.id)"
            throw APIError.invalid(
                "The \(named) belongs to the Customer \(owner). Please include the Customer in the "
                    + "`customer` parameter on the \(Object.name).",
                code: isSetup ? nil : "parameter_missing",
                param: isSetup ? "payment_method" : "source"
            )
        }
        throw APIError.invalid(
            "The PaymentMethod \(method.id) does not belong to the Customer you supplied "
                + "\(customer). Please use this PaymentMethod with the Customer that it belongs to "
                + "instead.",
            param: "payment_method"
        )
    }

    /// Returns the current state of an intent's method.
    func currentMethod<Object: ConfirmableObject>(of object: Object) -> SandboxMethod? {
        object.method.map { methods[$0.id] ?? $0 }
    }

    /// Returns the default method of a customer's payments.
    func defaultMethod(of customer: String?) -> SandboxMethod? {
        guard let id = customer.flatMap({ customers[$0]?.defaultMethod }) else { return nil }
        return methods[id] ?? sources[id].flatMap { SandboxMethod($0) }
    }

    /// Returns the method given by ID or by `payment_method_data`, if any.
    mutating func method<Object: ConfirmableObject>(
        in call: APICall,
        for object: Object
    ) throws(APIError) -> SandboxMethod? {
        let form = call.form
        let prefix = ["payment_method_data"]
        if form.has("payment_method_data") {
            let type = form["payment_method_data", "type"] ?? ""
            try form.allow(Self.methodDataParameters.union([type]), below: prefix)
            let method = try SandboxMethod(
                id: ids.make("pm_"),
                account: call.account,
                created: nowSeconds,
                form,
                prefix
            )
            methods[method.id] = method
            return method
        }
        guard let name = form["payment_method"], !name.isEmpty else { return nil }
        guard let method = resolveMethod(name, call.account) else {
            throw APIError.noSuch("PaymentMethod", name, param: "payment_method", inPath: false)
        }
        try requireUsable(method, for: object)
        return method
    }

    private static let methodDataParameters: Set<String> = [
        "allow_redisplay", "billing_details", "client_attribution_metadata", "guid", "metadata",
        "muid", "pasted_fields", "payment_user_agent", "radar_options", "referrer", "sid",
        "time_on_page", "type",
    ]
}
