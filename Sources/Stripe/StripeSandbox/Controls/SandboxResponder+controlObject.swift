import HTTPTypes
import Hummingbird
import JSONText
import NIOCore

extension SandboxResponder {
    /// The maximum number of Sources created by one call; each needs about 1 kB.
    static let bulkMax = 1_000_000

    /// Handles the controls of one object: the actions of banks and customers.
    func controlObject(_ request: Request, _ segments: [String]) async throws -> Response? {
        guard request.method == .post, segments.count == 3 else { return nil }
        // Safe: there are exactly three segments.
        let (kind, id, part) = (segments[0], segments[1], segments[2])
        switch (kind, part) {
        case ("sources", "status"):
            return try setSource(id, try await decode(StatusRequest.self, request))
        case ("payment_intents", "status"), ("setup_intents", "status"):
            let isSetup = kind == "setup_intents"
            return try setIntent(id, try await decode(StatusRequest.self, request), isSetup)
        case ("charges", "status"):
            let input = try await decode(ChargeStatusRequest.self, request)
            guard ["succeeded", "failed"].contains(input.status) else {
                throw APIError.invalid("status must be succeeded or failed.", param: "status")
            }
            return try change(id, "charge") { state in
                guard state.charges[id] != nil else { return nil }
                state.decideCharge(id, succeeds: input.status == "succeeded")
                return state.chargeJSON(id)
            }
        case ("charges", "disputes"), ("charges", "expire"), ("disputes", "status"),
            ("refunds", "status"):
            return try await controlMoney(id, segments, request)
        case ("sources", "payments"):
            let input = try await decode(PaymentRequest.self, request)
            try Self.requireAmount(input)
            return try change(id, "receiver source") { state in
                guard state.sources[id]?.receiver != nil else { return nil }
                state.pay(id, amount: input.amount, isPending: input.pending == true)
                return state.sourceJSON(id)
            }
        case ("payment_intents", "payments"):
            let input = try await decode(PaymentRequest.self, request)
            try Self.requireAmount(input)
            return try change(id, "payment_intent") { state in
                guard state.intents[id] != nil else { return nil }
                state.fundIntent(id, amount: input.amount)
                return state.json(\.intents, id)
            }
        case ("payment_intents", "presentment"):
            let input = try await decode(PresentmentRequest.self, request)
            return try change(id, "payment_intent") { state in
                guard state.intents[id] != nil else { return nil }
                state.present(
                    id,
                    SandboxPresentment(amount: input.amount, currency: input.currency)
                )
                return state.json(\.intents, id)
            }
        case ("customers", "payments"):
            let input = try await decode(PaymentRequest.self, request)
            try Self.requireAmount(input)
            return try change(id, "intent of a customer that waits for a bank transfer") { state in
                state.fundCustomer(id, amount: input.amount, currency: input.currency)
                    .map { state.json(\.intents, $0) }
            }
        case ("sources", "refund_attributes"):
            return try change(id, "receiver source") { state in
                guard state.sources[id]?.receiver != nil else { return nil }
                state.refundAttributesArrived(id)
                return state.sourceJSON(id)
            }
        default: return nil
        }
    }

    /// Handles the controls of existing payments.
    private func controlMoney(
        _ id: String,
        _ segments: [String],
        _ request: Request
    ) async throws -> Response {
        // Safe: the caller has checked for three segments.
        switch (segments[0], segments[2]) {
        case ("charges", "disputes"):
            let input = try await decode(DisputeRequest.self, request)
            guard SandboxDispute.statuses.contains(input.status ?? "lost"),
                Form.amountRange.contains(input.amount ?? 1)
            else { throw APIError.invalid("Invalid amount or dispute status.") }
            return try change(id, "charge that took as much") { state in
                state.dispute(
                    id,
                    amount: input.amount,
                    reason: input.reason,
                    status: input.status
                ).map { state.disputeJSON($0) }
            }
        case ("charges", _):
            return try change(id, "charge") { state in
                guard state.charges[id] != nil else { return nil }
                state.expireCharge(id)
                return state.chargeJSON(id)
            }
        case ("disputes", _):
            let input = try await decode(StatusRequest.self, request)
            guard SandboxDispute.statuses.contains(input.status) else {
                throw APIError.invalid("A dispute cannot be \(input.status).", param: "status")
            }
            return try change(id, "dispute") { state in
                guard state.disputes[id] != nil else { return nil }
                state.moveDispute(id, to: input.status)
                return state.disputeJSON(id)
            }
        default:
            let input = try await decode(RefundStatusRequest.self, request)
            guard SandboxState.refundStatuses.contains(input.status) else {
                throw APIError.invalid("A refund cannot be \(input.status).", param: "status")
            }
            return try setRefund(id, input)
        }
    }

    private func setRefund(
        _ id: String,
        _ input: RefundStatusRequest
    ) throws(APIError) -> Response {
        guard id != "next" || ["pending", "requires_action"].contains(input.status) else {
            throw APIError.invalid("next must be pending or requires_action.", param: "status")
        }
        var refusal: APIError?
        let answer = try change(id, "refund") { state in
            if id == "next" {
                state.nextRefund = RefundStart(
                    status: input.status,
                    pendingReason: input.pendingReason
                )
                return ByteBuffer(string: "{}")
            }
            guard state.refunds[id] != nil else { return nil }
            do throws(APIError) {
                let reason = input.failureReason ?? input.pendingReason
                try state.moveRefund(id, to: input.status, reason: reason)
            } catch {
                refusal = error
            }
            return state.refunds[id]?.json()
        }
        if let refusal { throw refusal }
        return answer
    }

    /// Applies a change, and returns the object's JSON or an error for an unknown object.
    private func change(
        _ id: String,
        _ kind: String,
        _ body: (inout SandboxState) -> ByteBuffer?
    ) throws(APIError) -> Response {
        guard let json = store.step(body) else { throw APIError.noSuch(kind, id) }
        return Self.json(json)
    }

    private static func requireAmount(_ input: PaymentRequest) throws(APIError) {
        guard Form.amountRange.contains(input.amount) else {
            throw APIError.invalid("amount must be 1 to 999999999999", param: "amount")
        }
    }

    /// Moves a Source from any status to any other, as tests require.
    private func setSource(_ id: String, _ input: StatusRequest) throws(APIError) -> Response {
        guard StatusRequest.sourceStatuses.contains(input.status) else {
            throw APIError.invalid("A source cannot be \(input.status).", param: "status")
        }
        return try change(id, "source") { state in
            guard state.sources[id] != nil else { return nil }
            state.settleSource(id, to: input.status, failureReason: input.failureReason)
            return state.sourceJSON(id)
        }
    }

    private func setIntent(
        _ id: String,
        _ input: StatusRequest,
        _ isSetup: Bool
    ) throws(APIError) -> Response {
        guard StatusRequest.intentStatuses.contains(input.status),
            !isSetup || input.status != "requires_capture"
        else {
            throw APIError.invalid("An intent cannot be \(input.status).", param: "status")
        }
        return isSetup
            ? try move(\.setups, id, to: input.status)
            : try move(\.intents, id, to: input.status)
    }

    private func move<Object: ConfirmableObject>(
        _ table: SandboxState.Table<Object>,
        _ id: String,
        to status: String
    ) throws(APIError) -> Response {
        try change(id, Object.kind) { state in
            guard state[keyPath: table][id] != nil else { return nil }
            state.settle(table, id, to: status)
            return state.json(table, id)
        }
    }

    /// Creates many pending Sources.
    func makeBulk(_ input: BulkRequest, _ request: Request) throws(APIError) -> Response {
        let type = input.type ?? "ideal"
        guard let kind = SourceKind.all[type] else {
            throw APIError.invalid("Invalid type: \(type)", param: "type")
        }
        guard (1...Self.bulkMax).contains(input.count) else {
            throw APIError.invalid("count must be 1 to \(Self.bulkMax)", param: "count")
        }
        let base = base(of: request)
        let created: [String]? = store.step { state in
            guard state.sources.count + input.count <= SandboxState.sourcesMax else { return nil }
            return state.bulkSources(
                count: input.count,
                type: type,
                kind: kind,
                amount: input.amount ?? 1099,
                account: input.account,
                base: base
            )
        }
        guard let created else {
            throw APIError.invalid(
                "The sandbox holds \(SandboxState.sourcesMax) sources; restart it."
            )
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("ids", created) })
    }
}
