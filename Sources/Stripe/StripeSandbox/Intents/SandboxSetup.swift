import HTTPTypes
import JSONText
import NIOCore

/// The sandbox's SetupIntent: a PaymentIntent without money.
///
/// It has the same statuses except `requires_capture`, the same customer actions (``ConfirmableObject``) and no
/// charge. It succeeds immediately where a payment would be pending, unless the test data delays the bank's decision.
/// *Source*: <https://docs.stripe.com/payments/setup-intents>.
struct SandboxSetup: ConfirmableObject, Codable {
    static let name = "SetupIntent"
    static let kind = "setupintent"
    static let unexpectedState = "setup_intent_unexpected_state"
    static let parameter = "setup_intent"
    static let abandoned = PaymentFailure(
        code: "setup_intent_authentication_failure",
        message: "The customer did not authorise the setup."
    )
    static let expired = PaymentFailure(
        code: "setup_intent_setup_attempt_expired",
        message: "The latest setup attempt for this SetupIntent has expired."
    )
    static let events = [
        "requires_action": "setup_intent.requires_action", "succeeded": "setup_intent.succeeded",
        "canceled": "setup_intent.canceled",
        "requires_payment_method": "setup_intent.setup_failed",
    ]
    static func expiry(of id: String) -> SandboxTimer { .expireSetup(id) }

    let id: String
    /// The connected account that owns the intent; `nil` for the platform.
    let account: String?
    let clientSecret: String
    let created: Int
    var methodTypes: [String]
    /// Whether Stripe selects the methods, so that any type is allowed.
    let isAutomatic: Bool
    let usage: String
    var description: String?
    var customer: String?
    var metadata: [String: String] = [:]
    var status = "requires_payment_method"
    var method: SandboxMethod?
    var nextAction: SandboxNextAction?
    /// The expiry of the customer's action, in sandbox time; `nil` for none.
    var actionEndMs: Int64?
    var attemptsRemaining = Microdeposits.attemptsMax
    var cancellationReason: String?
    var lastError: SandboxPaymentError?
    /// The result of the last redirect; kept after the action.
    var lastRedirect: SandboxRedirect?
    var rendered = RenderedJSON()

    /// Always `nil`, because no money moves.
    var latestCharge: String? { nil }

    func applyStatusChange(from _: String, in state: inout SandboxState) {
        guard status == "succeeded", let method else { return }
        state.recordUse(of: method, by: customer, isSetUp: usage == "off_session")
    }

    func proceed(with method: SandboxMethod, in state: inout SandboxState) {
        switch method.outcome {
        case .failsLater:
            state.settle(\.setups, id, to: "processing")
            state.scheduleAutomatic(.settleSetup(id))
        case .staysPending: state.settle(\.setups, id, to: "processing")
        default: state.settle(\.setups, id, to: "succeeded")
        }
    }

    func failCharge(_: PaymentFailure, in _: inout SandboxState) {}

    func render() -> [UInt8] { render(withMetadata: true) }

    /// Renders the intent.
    ///
    /// Publishable keys do not receive metadata; `expand[]=payment_method` replaces the ID by the method.
    func render(withMetadata: Bool, method expanded: ByteBuffer? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "setup_intent")
            writer.nulls("application")
            writer.name("automatic_payment_methods")
            if isAutomatic {
                writer.object { $0.field("enabled", true) }
            } else {
                writer.null()
            }
            writer.field("cancellation_reason", cancellationReason)
            writer.field("client_secret", clientSecret)
            writer.field("created", created)
            writer.field("customer", customer)
            writer.field("description", description)
            writer.nulls("flow_directions")
            writer.field("last_setup_error", lastError) { $0.render(into: &$1) }
            writer.nulls("latest_attempt")
            writer.field("livemode", false)
            writer.nulls("mandate")
            if withMetadata { writer.field("metadata", metadata) }
            let action = status == "requires_action" ? nextAction : nil
            writer.field("next_action", action) {
                $0.render(into: &$1, missing: 0, currency: "", reference: "")
            }
            writer.nulls("on_behalf_of")
            if let expanded {
                writer.field("payment_method", raw: expanded.readableBytesView)
            } else {
                writer.field("payment_method", method?.id)
            }
            writer.field("payment_method_options", [:])
            writer.field("payment_method_types", methodTypes)
            writer.nulls("single_use_mandate")
            writer.field("status", status)
            writer.field("usage", usage)
        }
    }
}

extension SandboxState {
    private static let setupParameters: Set<String> = [
        "attach_to_self", "automatic_payment_methods", "confirm", "customer", "description",
        "expand", "flow_directions", "mandate_data", "metadata", "on_behalf_of", "payment_method",
        "payment_method_data", "payment_method_options", "payment_method_types", "return_url",
        "single_use", "usage", "use_stripe_sdk",
    ]

    /// `/v1/setup_intents`, `…/{id}` and its `confirm`, `cancel` and `verify_microdeposits`.
    mutating func routeSetups(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createSetup(call)
        case (.get, 1): return try list(setups, call)
        default: break
        }
        let setup = try setups.found(call)
        let id = setup.id
        if call.method == .get || ["confirm", "verify_microdeposits"].contains(call.segment(2)) {
            try Self.requireClientSecret(setup.clientSecret, call, kind: "SetupIntent")
        } else {
            try Self.requireSecretKey(call)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): break
        case (.post, 2, _):
            var setup = setup
            try call.form.allow(Self.setupParameters)
            try read(call, into: &setup)
            setup.changed()
            setups[id] = setup
        case (.post, 3, "confirm"):
            try call.form.allow(Self.confirmParameters)
            try confirmSetup(call, setup)
        case (.post, 3, "cancel"):
            try call.form.allow(["cancellation_reason", "expand"])
            try cancelSetup(call, setup)
        case (.post, 3, "verify_microdeposits"): try verify(\.setups, setup, call)
        default: throw Self.unrecognized(call)
        }
        return setupReply(call, id)
    }

    private mutating func setupReply(_ call: APICall, _ id: String) -> APIReply {
        guard let setup = setups[id] else { return APIReply(body: ByteBuffer()) }
        let isExpanded = call.form.list("expand").contains("payment_method")
        let method = isExpanded ? currentMethod(of: setup)?.json() : nil
        guard call.key.isPublishable || method != nil else {
            return APIReply(body: json(\.setups, id))
        }
        return APIReply(
            body: setup.render(withMetadata: !call.key.isPublishable, method: method)
        )
    }

    private mutating func createSetup(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let form = call.form
        try form.allow(Self.setupParameters)
        let usage = try form.choice("usage", ["off_session", "on_session"]) ?? "off_session"
        let mayConfirm = try form.flag("confirm") ?? false
        let id = ids.make("seti_")
        var types = form.list("payment_method_types")
        if types.isEmpty { types = form["payment_method_data", "type"].map { [$0] } ?? ["card"] }
        var setup = SandboxSetup(
            id: id,
            account: call.account,
            clientSecret: ids.make(id + "_secret_", length: 31),
            created: nowSeconds,
            methodTypes: types,
            isAutomatic: form["automatic_payment_methods", "enabled"] == "true",
            usage: usage
        )
        try read(call, into: &setup)
        setups[id] = setup
        recordStatus(id, from: nil, to: setup.status)
        emit("setup_intent.created", json(\.setups, id), account: call.account)
        if mayConfirm { try confirmSetup(call, setup) }
        return setupReply(call, id)
    }

    private mutating func read(_ call: APICall, into setup: inout SandboxSetup) throws(APIError) {
        if let customer = call.form["customer"] {
            setup.customer = try resolveCustomer(customer, call).id
        }
        if let text = call.form["description"] { setup.description = text }
        setup.metadata = try call.form.updated(metadata: setup.metadata)
        if let method = try method(in: call, for: setup) {
            setup.method = method
            if setup.status == "requires_payment_method" { setup.status = "requires_confirmation" }
        }
    }

    /// Confirms a SetupIntent: requires an action, rejects the method, or enables it for later charges.
    private mutating func confirmSetup(_ call: APICall, _ found: SandboxSetup) throws(APIError) {
        try found.require(SandboxSetup.open, doing: "confirm")
        if let method = try method(in: call, for: found) { setups[found.id]?.method = method }
        guard let method = setups[found.id].flatMap({ currentMethod(of: $0) }) else {
            throw APIError.invalid(
                "You cannot confirm this SetupIntent because it's missing a payment method.",
                code: SandboxSetup.unexpectedState,
                param: "payment_method"
            )
        }
        guard found.isAutomatic || found.methodTypes.contains(method.type) else {
            throw APIError.invalid(
                "The PaymentMethod provided (\(method.type)) is not allowed for this SetupIntent.",
                code: "setup_intent_invalid_parameter",
                param: "payment_method"
            )
        }
        try requireUsable(method, for: found)
        try confirm(\.setups, found, with: method, call)
    }

    private mutating func cancelSetup(_ call: APICall, _ setup: SandboxSetup) throws(APIError) {
        try setup.require(SandboxSetup.open, doing: "cancel")
        let reason = try call.form.choice(
            "cancellation_reason",
            ["abandoned", "duplicate", "requested_by_customer"]
        )
        setups[setup.id]?.cancellationReason = reason
        settle(\.setups, setup.id, to: "canceled")
    }
}
