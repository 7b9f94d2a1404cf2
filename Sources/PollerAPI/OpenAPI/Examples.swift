import JSONText
import PollerWire

/// Examples of requests and responses for the API description.
///
/// All examples show one payment: order A77, €49.90, paid by iDEAL. Responses have the same types as real ones, so an
/// example has every required field. Requests are written as a client writes them. A test validates all examples
/// against their schemas.
enum Examples {
    /// Returns an example of a component as JSON; `nil` if there is none.
    static func json(of component: String) -> String? {
        if let request = requests[component] { return request }
        if let answer = answers[component] { return answer.json }
        guard component.hasSuffix("Page"), let item = answers[String(component.dropLast(4))] else {
            return nil
        }
        // Only a page of events has a gap flag, since earlier events may have been dropped.
        let gap = component == "EventPage" ? #","gap":false"# : ""
        return #"{"data":[\#(item.json)],"has_more":false,"next":null\#(gap)}"#
    }

    private static let requests: [String: String] = [
        "NewWatch": #"""
        {"source":"src_1Pgafas8PxYBwX","notify":["https://shop.example/hooks/payments"],"order":"A77",\#
        "metadata":{"customer":"Jane Doe"}}
        """#,
        "WatchSelection": #"{"q":"order=A77","dry_run":true}"#,
        "NewEndpoint": #"""
        {"url":"https://shop.example/hooks/payments","name":"Shop","types":["payment.*"]}
        """#,
        "EndpointChange": #"{"name":"Warehouse","types":["payment.paid"],"timeout":"10s"}"#,
        "EndpointRotation": #"{"overlap":"24h"}"#,
        "EndpointDisabling": #"{"reason":"moved to another host"}"#,
        "NewReplay": #"{"status":"dead","rate":50}"#,
        "NewLaneLimit": #"{"rate":10,"burst":2,"concurrency":5}"#,
        "NewStreamToken": #"{"sources":["src_1Pgafas8PxYBwX"],"ttl":"10m"}"#,
        "NewAccessKey": #"{"role":"support","name":"Support desk","accounts":["default"]}"#,
        "Verification": #"{"values":["32","45"]}"#,
        "RefundAccount": #"{"holder":"Jane Doe","iban":"DE89370400440532013000"}"#,
        "Bounce": #"{"recipient":"jane@example.com","type":"hard_bounce"}"#,
    ]

    private static let answers: [String: any WireObject] = [
        "Watch": watch, "Order": order, "Event": event, "Endpoint": endpoint,
        "EndpointTest": endpointTest, "Delivery": delivery, "Attempt": attempt,
        "DeliveryMessage": message,
        "Incident": incident, "AuditEntry": auditEntry, "AccessKey": accessKey, "Lane": lane,
        "Replay": replay, "StreamToken": streamToken, "Suppression": suppression,
        "TimelineEntry": timelineEntry, "Problem": problem,
    ]

    private static let source = "src_1Pgafas8PxYBwX"
    /// 2026-11-20, 09:30:00.125 UTC.
    private static let began = Time(ms: 1_795_167_000_125)
    private static let paid = Time(ms: 1_795_167_042_125)

    private static let payment = Payment {
        $0.state = Open(.paid)
        $0.amount = 4990
        $0.amountReceived = 4990
        $0.currency = "eur"
        $0.method = "ideal"
        $0.paidAt = paid
    }

    private static let watch = Watch {
        $0.id = "4Zr0bKJx9Qw"
        $0.source = source
        $0.account = "default"
        $0.state = Open(.closed)
        $0.closedReason = Open(.settled)
        $0.status = "consumed"
        $0.isFinal = true
        $0.seq = 3
        $0.attempts = 6
        $0.createdAt = began
        $0.deadlineAt = Time(ms: began.ms + 30 * 86_400_000)
        $0.lastPolledAt = paid
        $0.policy = "auto"
        $0.notify = ["https://shop.example/hooks/payments"]
        $0.order = "A77"
        $0.metadata = ["customer": "Jane Doe"]
        $0.payment = payment
    }

    private static let order = Order {
        $0.order = "A77"
        $0.account = "default"
        $0.payment = payment
        $0.paidBy = source
        $0.seq = 2
        $0.createdAt = began
        $0.members = [
            Order.Member {
                $0.source = source
                $0.seq = 3
                $0.payment = payment
            }
        ]
    }

    private static let event = Event {
        $0.id = "evt_8sKx0mPq2LtZ"
        $0.type = "payment.paid"
        $0.account = "default"
        $0.source = source
        $0.order = "A77"
        $0.seq = 3
        $0.run = 1
        $0.previousStatus = "chargeable"
        $0.status = "consumed"
        $0.isFinal = true
        $0.closedReason = Open(.settled)
        $0.payment = payment
        $0.isLive = true
        $0.observed = Event.Observed {
            $0.polledAt = paid
            $0.lagMs = 3
        }
        $0.metadata = ["customer": "Jane Doe"]
    }

    private static let endpoint = Endpoint {
        $0.id = "ep_Zr0bKJx9Qw8sKx0m"
        $0.account = "default"
        $0.name = "Shop"
        $0.url = "https://shop.example/hooks/payments"
        $0.types = ["payment.*"]
        $0.signing = Open(.hmac)
        $0.secrets = [Endpoint.Secret()]
        $0.createdAt = began
        $0.updatedAt = began
    }

    private static let endpointTest = EndpointTest {
        $0.isDelivered = true
        $0.kind = "ok"
        $0.code = 204
        $0.address = "192.0.2.7:443"
        $0.durationMs = 38
    }

    private static let message = DeliveryMessage {
        $0.delivery = delivery.id
        $0.seq = 3
        $0.event = "evt_5Zr0bKJx9Qw"
        $0.recipient = "jane@example.com"
        $0.type = "text/plain"
        $0.subject = "We have received your payment"
        $0.text = "Thank you. We have received your payment of €49.90."
        $0.sentAt = paid
        $0.isAsSent = true
    }

    private static let delivery = Delivery {
        $0.id = "dlv_3_Zr0bKJx9Qw8s"
        $0.endpoint = endpoint.id
        $0.endpointName = "Shop"
        $0.account = "default"
        $0.source = source
        $0.state = Open(.failing)
        $0.lastSeq = 2
        $0.failures = 1
        $0.attempts = 3
        $0.failingSince = paid
        $0.nextAttemptAt = Time(ms: paid.ms + 5000)
        $0.lastError = "answered 503"
    }

    private static let attempt = DeliveryAttempt {
        $0.at = paid
        $0.event = event.id
        $0.seq = 3
        $0.outcome = Open(.failed)
        $0.kind = Open(.serverError)
        $0.code = 503
        $0.address = "192.0.2.7:443"
        $0.reason = "answered 503"
        $0.excerpt = "out of order"
    }

    private static let incident = Incident {
        $0.id = "inc_Zr0bKJx9Qw8sKx0m"
        $0.kind = Open(.deadLetters)
        $0.subject = endpoint.id
        $0.subjectName = "Shop"
        $0.count = 2
        $0.since = began
        $0.openedAt = began
        $0.message = "Shop (\(endpoint.id)): 2 deliveries have dead letters"
    }

    private static let auditEntry = AuditEntry {
        $0.id = "1795167000125-0"
        $0.at = began
        $0.by = "Support desk"
        $0.key = accessKey.id
        $0.role = Open(.support)
        $0.action = "disableEndpoint"
        $0.target = AuditEntry.Target {
            $0.kind = "endpoint"
            $0.id = endpoint.id
            $0.name = "Shop"
        }
        $0.account = "default"
    }

    private static let lane = Lane {
        $0.id = "default/sources"
        $0.waiting = 12
        $0.inFlight = 3
        $0.limit = LaneLimit {
            $0.rate = 20
            $0.burst = 4
            $0.concurrency = 16
            $0.isDefault = true
        }
    }

    private static let accessKey = AccessKey {
        $0.id = "key_8sKx0mPq2LtZ"
        $0.name = "Support desk"
        $0.role = Open(.support)
        $0.createdAt = began
    }

    private static let replay = Replay {
        $0.endpoint = endpoint.id
        $0.rate = 50
        $0.lookedAt = 120
        $0.matched = 2
        $0.events = 3
    }

    private static let streamToken = StreamToken {
        // A real `streamToken` is different: 43 characters of base64url.
        $0.reveal = "EXAMPLE_TOKEN_OF_43_CHARACTERS_000000000000"
        $0.expiresAt = Time(ms: began.ms + 600_000)
    }

    private static let suppression = Suppression {
        $0.recipient = "jane@example.com"
        $0.isSuppressed = true
        $0.reason = Open(.hardBounce)
    }

    private static let timelineEntry = TimelineEntry {
        $0.at = paid
        $0.text = "The payment of €49.90 was received."
        $0.tone = Open(.good)
    }

    private static let problem = ProblemReport {
        $0.type = "urn:poller:problem:watch_not_found"
        $0.title = "The source is not watched."
        $0.status = 404
        $0.detail =
            "There is no watch of src_1 under account default; enqueue it with POST "
            + "/v1/watches, or name another account."
        $0.code = "watch_not_found"
        $0.requestID = "8sKx0mPq2LtZ"
    }
}
