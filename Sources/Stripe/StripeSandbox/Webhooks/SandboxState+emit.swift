import NIOCore

extension SandboxState {
    /// Deliveries under way; beyond it new ones are lost, as Stripe may lose a webhook.
    static let deliveriesMax = 200_000

    /// Webhook faults in force at a time.
    static let webhookFaultsMax = 100

    /// Records an event and asks for its deliveries.
    ///
    /// - Parameters:
    ///   - type: Such as `source.chargeable`.
    ///   - object: What it is about, as it is now.
    ///   - account: The connected account it belongs to.
    ///   - previous: Of updates, a JSON object with what changed as it was before.
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

    /// Starts a delivery as its fault wants.
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

    /// Posts a delivery now, unless its endpoint is gone.
    mutating func attempt(_ number: Int) {
        guard let delivery = deliveries[number] else { return }
        guard let endpoint = webhooks.first(where: { $0.id == delivery.endpoint }),
            endpoint.isEnabled
        else {
            deliveries.removeValue(forKey: number)
            return
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
    }

    /// Notes an endpoint's answer and sets the next try if it did not take the event.
    ///
    /// - Parameters:
    ///   - number: The delivery.
    ///   - status: The HTTP status; 0 when there was no answer.
    mutating func recordAttempt(_ number: Int, status: Int) {
        guard let delivery = deliveries[number] else { return }
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

    /// Delivers an event once more, as the Dashboard's button does.
    ///
    /// - Returns: How many endpoints get it; nil when there is no such event.
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

    /// The oldest fault that applies to the type, used once more.
    private mutating func takeWebhookFault(for type: String) -> WebhookFault? {
        guard let index = webhookFaults.firstIndex(where: { $0.applies(to: type) }) else {
            return nil
        }
        let fault = webhookFaults[index]
        if let left = fault.times { webhookFaults[index].times = left - 1 }
        // A spent fault that holds nothing can go.
        if fault.times == 1, fault.mode != .hold { webhookFaults.remove(at: index) }
        return fault
    }

    /// Deletes one webhook fault, or all; what they hold arrives now, the newest first.
    ///
    /// - Returns: How many there were.
    mutating func removeWebhookFaults(_ id: String?) -> Int {
        let removed = webhookFaults.filter { id == nil || $0.id == id }
        webhookFaults.removeAll { id == nil || $0.id == id }
        // 20 ms of the machine's apart, so that they arrive in that order.
        let intervalMs = time.sandboxMs(for: 20)
        for (offset, number) in removed.flatMap(\.held).reversed().enumerated() {
            schedule(after: Int64(clamping: offset) * intervalMs, .attempt(number))
        }
        return removed.count
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
