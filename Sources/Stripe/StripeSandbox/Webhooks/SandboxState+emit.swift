import NIOCore

extension SandboxState {
    /// The maximum number of deliveries in flight; above it webhooks are lost, as may happen at Stripe.
    static let deliveriesMax = 200_000

    /// The maximum number of active webhook faults.
    static let webhookFaultsMax = 100

    /// Records an event and starts its deliveries.
    ///
    /// - Parameters:
    ///   - type: The type, for example `source.chargeable`.
    ///   - object: The JSON of the object.
    ///   - account: The connected account that owns the object.
    ///   - previous: For updates, a JSON object with the previous values of the changed fields.
    mutating func emit(
        _ type: String,
        _ object: ByteBuffer,
        account: String?,
        previous: [UInt8]? = nil
    ) {
        let fault = takeWebhookFault(for: type)
        for _ in 0..<(fault?.mode == .twin ? 2 : 1) {
            let endpoints = webhooks.filter { $0.accepts(type, from: account) }
            let event = SandboxEvent(
                id: ids.make("evt_"),
                type: type,
                created: nowSeconds,
                atMs: machineMs,
                account: account,
                object: object,
                previous: previous,
                requestID: cause.requestID,
                idempotencyKey: cause.idempotencyKey,
                pending: endpoints.map(\.id),
                listedFromMs: fault?.listDelayMs.map { machineMs + $0 }
            )
            events.append(event)
            for endpoint in endpoints {
                begin(
                    WebhookDelivery(
                        event: event.id,
                        type: type,
                        endpoint: endpoint.id,
                        body: endpoint.isThin ? event.thinJSON() : event.json()
                    ),
                    fault
                )
            }
        }
    }

    /// Starts a delivery according to its fault.
    private mutating func begin(_ delivery: WebhookDelivery, _ fault: WebhookFault?) {
        guard fault?.mode != .drop, deliveries.count < Self.deliveriesMax else {
            log(delivery, status: nil)
            return
        }
        for _ in 0..<(fault?.mode == .duplicate ? 2 : 1) {
            let number = nextDelivery
            nextDelivery += 1
            deliveries[number] = delivery
            switch fault?.mode {
            case .hold:
                if let index = webhookFaults.firstIndex(where: { $0.id == fault?.id }) {
                    webhookFaults[index].held.append(number)
                }
            case .delay: schedule(after: fault?.delayMs ?? 1000, .attempt(number))
            default: attempt(number)
            }
        }
    }

    /// Sends a delivery now, unless its endpoint was removed or disabled.
    ///
    /// - Returns: Whether it was sent.
    @discardableResult
    mutating func attempt(_ number: Int) -> Bool {
        guard let delivery = deliveries[number] else { return false }
        guard let endpoint = webhooks.first(where: { $0.id == delivery.endpoint }),
            endpoint.isEnabled
        else {
            deliveries.removeValue(forKey: number)
            return false
        }
        deliveries[number]?.attempts += 1
        var secrets = [endpoint.secret]
        if let old = endpoint.oldSecret, machineMs < old.untilMs { secrets.append(old.text) }
        posts.append(
            WebhookPost(
                delivery: number,
                url: endpoint.url,
                secrets: secrets,
                body: delivery.body
            )
        )
        return true
    }

    /// Records an endpoint's response, and schedules the next attempt after a failure.
    ///
    /// - Parameters:
    ///   - number: The delivery.
    ///   - status: The HTTP status; 0 without a response.
    mutating func recordAttempt(_ number: Int, status: Int) {
        guard let delivery = deliveries[number] else { return }
        if releasedDeliveries[delivery.endpoint]?.first == number {
            releasedDeliveries[delivery.endpoint]?.removeFirst()
            sendReleasedDelivery(to: delivery.endpoint)
        }
        log(delivery, status: status)
        if (200..<300).contains(status) {
            deliveries.removeValue(forKey: number)
            events.delivered(delivery.event, to: delivery.endpoint)
        } else if let pauseMs = webhookPlan.pauseMs(after: delivery.attempts) {
            schedule(after: pauseMs, .attempt(number))
        } else {
            deliveries.removeValue(forKey: number)
        }
    }

    /// Delivers an event again, like the button in the Dashboard.
    ///
    /// - Returns: The number of endpoints; `nil` for an unknown event.
    mutating func resend(_ id: String, to endpoint: String?) -> Int? {
        guard let number = events.number(of: id), let event = events[number] else { return nil }
        let chosen = webhooks.filter { webhook in
            guard let endpoint else { return webhook.accepts(event.type, from: event.account) }
            return webhook.id == endpoint
        }
        for webhook in chosen {
            let body = webhook.isThin ? event.thinJSON() : event.json()
            begin(
                WebhookDelivery(event: id, type: event.type, endpoint: webhook.id, body: body),
                nil
            )
        }
        return chosen.count
    }

    /// Returns the oldest fault that matches the type, and counts the use.
    private mutating func takeWebhookFault(for type: String) -> WebhookFault? {
        guard let index = webhookFaults.firstIndex(where: { $0.applies(to: type) }) else {
            return nil
        }
        let fault = webhookFaults[index]
        if let left = fault.times { webhookFaults[index].times = left - 1 }
        // A used-up fault without held deliveries can be removed.
        if fault.times == 1, fault.mode != .hold { webhookFaults.remove(at: index) }
        return fault
    }

    /// Deletes one webhook fault or all; held deliveries are sent now, the newest first.
    ///
    /// An endpoint gets each of them after it has answered the one before, so that they arrive in this order.
    ///
    /// - Returns: The number of deleted faults.
    mutating func removeWebhookFaults(_ id: String?) -> Int {
        let removed = webhookFaults.filter { id == nil || $0.id == id }
        webhookFaults.removeAll { id == nil || $0.id == id }
        let held = removed.flatMap(\.held).sorted(by: >)
        let byEndpoint = Dictionary(grouping: held) { deliveries[$0]?.endpoint ?? "" }
        for (endpoint, numbers) in byEndpoint.sorted(by: { $0.key < $1.key }) {
            let isSending = releasedDeliveries[endpoint] != nil
            releasedDeliveries[endpoint, default: []] += numbers
            if !isSending { sendReleasedDelivery(to: endpoint) }
        }
        return removed.count
    }

    /// Sends the next released delivery of an endpoint; skips all if it was removed or disabled.
    private mutating func sendReleasedDelivery(to endpoint: String) {
        while let number = releasedDeliveries[endpoint]?.first, !attempt(number) {
            releasedDeliveries[endpoint]?.removeFirst()
        }
        if releasedDeliveries[endpoint]?.isEmpty == true { releasedDeliveries[endpoint] = nil }
    }

    private mutating func log(_ delivery: WebhookDelivery, status: Int?) {
        attempts.append(
            WebhookAttempt(
                event: delivery.event,
                type: delivery.type,
                endpoint: delivery.endpoint,
                attempt: delivery.attempts,
                status: status,
                atMs: machineMs
            )
        )
    }
}
