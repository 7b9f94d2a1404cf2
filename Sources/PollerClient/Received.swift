// What comes back from the server keeps two things: the shape, from the dictionary that the server
// writes with, and the text itself. The text is what scripts and signatures work on, so it stays byte
// for byte as it was sent, with members that a newer server has added; the shape knows what this
// version knows and passes over the rest.

import JSONText
public import PollerWire
import SafeNumbers

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A value as the server sent it: its shape, and its text.
///
/// The shape's properties are the value's own, in plain types: an instant is a `Date`, a word of a list
/// that may grow a `String`, metadata a dictionary.
/// ```swift
/// let watch = try await poller.watch("src_123")
/// if !watch.isOpen { print(watch.closedReason ?? "?", watch.createdAt, watch.json) }
/// ```
@dynamicMemberLookup
public struct Received<Shape: Hashable & Sendable>: Hashable, Sendable {
    /// What it says, as far as this version knows it.
    public let value: Shape
    /// The very text.
    public let json: String

    /// A property of the shape.
    public subscript<Value>(dynamicMember path: KeyPath<Shape, Value>) -> Value {
        value[keyPath: path]
    }

    /// An instant.
    public subscript(dynamicMember path: KeyPath<Shape, Time>) -> Date { value[keyPath: path].date }

    /// An instant, if there is one.
    public subscript(dynamicMember path: KeyPath<Shape, Time?>) -> Date? {
        value[keyPath: path]?.date
    }

    /// A word of a list that may grow.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, Open<Known>>) -> String {
        value[keyPath: path].rawValue
    }

    /// A word of a list that may grow, if there is one.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, Open<Known>?>) -> String? {
        value[keyPath: path]?.rawValue
    }

    /// Words of a list that may grow.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, [Open<Known>]>) -> [String] {
        value[keyPath: path].map(\.rawValue)
    }

    /// Texts by name.
    public subscript(dynamicMember path: KeyPath<Shape, Texts>) -> [String: String] {
        value[keyPath: path].dictionary
    }
}

extension Received where Shape: WireObject {
    /// Reads a value; nil when the text is not one.
    init?(_ json: RawJSON) {
        // Whoever asked knows what it was to be, and says so.
        guard let value = try? Shape(reading: json) else { return nil }
        self.value = value
        self.json = json.description
    }
}

/// Some items, and where the next ones are.
public struct Page<Item: Hashable & Sendable>: Hashable, Sendable {
    /// The items, in order.
    public let items: [Received<Item>]
    /// Whether there is more right now.
    public let hasMore: Bool
    /// The cursor of the next page; nil when this was the last.
    public let next: String?
    /// Events before these are no longer kept: read the watches anew.
    ///
    /// Never for watches.
    public let hasGap: Bool
    /// How many records were looked at for it; nil where nobody counted.
    public let looked: Int?
    /// The page as the server sent it.
    public let json: String
}

extension Page where Item: WireObject {
    /// Reads a page.
    ///
    /// A list that is always sent as a whole (`isWhole`) does not say whether there is more.
    init(_ answer: PollerClient.Answer, isWhole: Bool = false) throws(PollerError) {
        let json = try answer.json
        let hasMore = json.member("has_more")?.bool ?? (isWhole ? false : nil)
        guard let items = json.member("data")?.elements, let hasMore else {
            throw PollerClient.Answer.isForeign
        }
        self.items = try items.map { item throws(PollerError) in
            guard let item = Received<Item>(item) else {
                throw .unintelligible(
                    "an item of the answer cannot be understood: use a client of the server's "
                        + "version"
                )
            }
            return item
        }
        self.hasMore = hasMore
        next = json.member("next")?.string
        hasGap = json.member("gap")?.bool ?? false
        looked = json.member("looked")?.number.flatMap { Int(safe: $0) }
        self.json = json.description
    }
}

extension RawJSON {
    /// A text from a server; nil when it is not JSON.
    ///
    /// An upstream's object inside it may repeat a name, and may itself be as deep as a poll reads: both are
    /// passed on, not refused.
    init?(received bytes: [UInt8]) { self.init(bytes) }
}

extension PollerClient {
    /// What a server answered.
    struct Answer {
        /// Whoever answered is no poller.
        static let isForeign = PollerError.unintelligible(
            "the answer is not one of a poller's: check the URL and the server's version"
        )

        let status: Int
        let body: [UInt8]

        /// The body, once it is known to be JSON.
        var json: RawJSON {
            get throws(PollerError) {
                guard let json = RawJSON(received: body) else { throw Self.isForeign }
                return json
            }
        }

        /// The body as a value; `noun` is what was asked for, such as "a watch".
        func received<Shape: WireObject>(_ noun: String) throws(PollerError) -> Received<Shape> {
            guard let json = try? self.json, let value = Received<Shape>(json) else {
                throw .unintelligible(
                    "the answer is not \(noun): check the URL and the server's version"
                )
            }
            return value
        }

        /// The body as a value of which nobody wants the text.
        func value<Shape: WireObject>() throws(PollerError) -> Shape {
            guard let value = try? Shape(reading: self.json) else { throw Self.isForeign }
            return value
        }
    }
}

extension Time {
    /// An instant, cut to whole milliseconds.
    public init(_ date: Date) {
        self.init(ms: Int64(saturating: (date.timeIntervalSince1970 * 1000).rounded()))
    }

    /// The instant for Foundation.
    public var date: Date { Date(timeIntervalSince1970: Double(ms) / 1000) }
}

// The shapes by their names in the dictionary, for those who import this library alone.
/// What is known of one followed source.
public typealias Watch = PollerWire.Watch
/// What to follow, how, and who is told.
public typealias WatchRequest = PollerWire.WatchRequest
/// What to charge when the source becomes chargeable.
public typealias WatchCharge = PollerWire.WatchCharge
/// One payment as an archive has it.
public typealias ArchiveLine = PollerWire.ArchiveLine
/// What takes the place of an object whose API is deprecated.
public typealias Deprecation = PollerWire.Deprecation
/// What became of a batch of requests.
public typealias BatchResult = PollerWire.BatchResult
/// One recorded change of one source.
public typealias WatchEvent = PollerWire.Event
/// When a watch is polled next, and what it waits for.
public typealias WatchExplanation = PollerWire.WatchExplanation
/// A registered place that is told about the events of an account.
public typealias Endpoint = PollerWire.Endpoint
/// What came of a test event.
public typealias EndpointTest = PollerWire.EndpointTest
/// What one endpoint still has to be told about one source.
public typealias Delivery = PollerWire.Delivery
/// One attempt of a delivery.
public typealias DeliveryAttempt = PollerWire.DeliveryAttempt
/// How a replay of an endpoint stands.
public typealias Replay = PollerWire.Replay
/// How a lane stands right now.
public typealias Lane = PollerWire.Lane
/// How much of what the cluster holds.
public typealias Stats = PollerWire.Stats
/// A process that works on the cluster.
public typealias Worker = PollerWire.Worker
/// A process that left the cluster within a day.
public typealias DepartedWorker = PollerWire.DepartedWorker
/// What the server depends on, and how it is.
public typealias HealthReport = PollerWire.HealthReport
/// A key of the API.
public typealias AccessKey = PollerWire.AccessKey
/// A token for the live gateway, and its end.
public typealias StreamToken = PollerWire.StreamToken
