package import JSONText

/// A figure that may be unknown: a whole number or null.
public struct Measured: Hashable, Sendable {
    /// The number; `nil` if there was nothing to measure.
    public var value: Int?

    /// Creates a figure.
    public init(_ value: Int?) {
        self.value = value
    }
}

extension Measured: WireValue {
    package static var schema: Schema { Int.schema.orNull }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> Measured {
        Measured(json.kind == .null ? nil : try Int.read(json, location))
    }

    package func write(to json: inout JSONWriter) {
        if let value { json.value(value) } else { json.null() }
    }
}

/// The activity of the cluster over time, available without a monitoring system.
public struct StatsHistory: WireObject, Hashable {
    /// The interval of a point, in seconds.
    public var stepSeconds = 0
    /// The start of the first point.
    public var from = Time(ms: 0)
    /// One list per figure, oldest first and all of the same length.
    ///
    /// The last point is still in progress.
    public var series = Series()

    /// The figures.
    public struct Series: WireObject, Hashable {
        /// GET requests to upstreams.
        public var polls: [Int] = []
        /// Recorded changes.
        public var changes: [Int] = []
        /// Events that an endpoint accepted.
        public var deliveries: [Int] = []
        /// Polls without a usable response, and failed delivery attempts.
        public var failures: [Int] = []
        /// The median lag of polls behind their due time, in ms.
        public var lagP50: [Measured] = []
        /// The 99th percentile of that lag, in ms.
        public var lagP99: [Measured] = []

        package init() {}

        package static let shape = Shape<Series> {
            Field("polls", \.polls).note("GET requests to upstreams.")
            Field("changes", \.changes).note("Recorded changes.")
            Field("deliveries", \.deliveries).note("Events that an endpoint accepted.")
            Field("failures", \.failures)
                .note("Polls without a usable response, and failed delivery attempts.")
            Field("lag_p50_ms", \.lagP50)
                .note("The median delay of polls after their due time. null without polls.")
            Field("lag_p99_ms", \.lagP99).note("The 99th percentile of the same delay.")
        }
    }

    package init() {}

    package static let shape = Shape<StatsHistory>("StatsHistory") {
        Field("step_seconds", \.stepSeconds).note("The length of an interval in seconds.")
        Field("from", \.from).note("The start of the first interval.")
        Field("series", \.series)
            .note("Oldest first, all of the same length. The last interval is not complete yet.")
    }
}
