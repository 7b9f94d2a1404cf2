import BenchPlan
import Foundation
import StripeAPI

/// Measures verifying and decoding a signed webhook of each size and shape, up to the route's limit.
///
/// The time must grow with the bytes of the body and nothing else. Depth, number of values, escapes and digits are the
/// sender's choice.
struct JSONBench: Sendable {
    /// The sizes of the bodies in bytes.
    ///
    /// The last is the limit of `POST /v1/stripe/webhook`.
    private static let sizes = [1024, 8192, 65_536, 262_144]
    private static let secret = "whsec_bench"

    /// Each shape with the member of `data.object` that fills the body.
    private static let shapes: [(name: String, fill: @Sendable (Int) -> String)] = [
        (
            // Repeated arrays of the greatest depth accepted below the event's three levels.
            "nested",
            { bytes in
                let one = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
                return list(of: one, bytes: bytes)
            }
        ),
        ("wide", { bytes in list(of: "{}", bytes: bytes) }),
        ("members", { bytes in list(of: #"{"a":1,"b":"c"}"#, bytes: bytes) }),
        ("numbers", { bytes in list(of: "-1.2345e67", bytes: bytes) }),
        ("string", { bytes in "\"" + String(repeating: "x", count: bytes) + "\"" }),
        ("escapes", { bytes in "\"" + String(repeating: #"\u00e9"#, count: bytes / 6) + "\"" }),
    ]

    let plan: BenchPlan

    func measure(_ report: inout BenchReport) throws {
        let span = plan.span / Double(Self.shapes.count * Self.sizes.count)
        for shape in Self.shapes {
            for size in Self.sizes {
                let body = Data(Self.event(shape.fill(size - 200)).utf8)
                let spent = try time(body, for: span)
                report.add(
                    "decode, \(shape.name), \(body.count) bytes",
                    "json_\(shape.name)_\(size)_us",
                    spent / .microseconds(1),
                    "µs"
                )
            }
        }
    }

    /// Returns the mean time of one body.
    private func time(_ body: Data, for span: Duration) throws -> Duration {
        let header = WebhookSignature.header(payload: body, secret: Self.secret, timestamp: 1)
        let clock = ContinuousClock()
        let began = clock.now
        var count = 0
        repeat {
            let event = try WebhookSignature.constructEvent(
                payload: body,
                header: header,
                secrets: [Self.secret],
                tolerance: nil,
                now: 1
            )
            guard event.id == "evt_1" else { throw BenchError("a different event was decoded") }
            count += 1
        } while clock.now - began < span
        return (clock.now - began) / count
    }

    private static func event(_ fill: String) -> String {
        #"{"id":"evt_1","object":"event","type":"source.chargeable","livemode":false,"#
            + #""data":{"object":{"id":"src_1","fill":\#(fill)}}}"#
    }

    private static func list(of item: String, bytes: Int) -> String {
        let count = max(bytes / (item.utf8.count + 1), 1)
        return "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
    }
}
