/// The series of one metric name.
struct PrometheusFamily: Sendable {
    /// What Prometheus is told the metric is.
    enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// What one set of labels has.
    enum Series: Sendable {
        case value(PrometheusValue)
        case histogram(PrometheusHistogram)
    }

    let kind: Kind
    /// By the labels as they are rendered, without braces.
    private var series: [String: Series] = [:]

    init(kind: Kind) {
        self.kind = kind
    }

    /// The series of a set of labels; the one for all that is too much when there are `max`.
    mutating func series(_ labels: String, max: Int) -> Series {
        if let known = series[labels] { return known }
        let labels = series.count < max ? labels : "overflow=\"true\""
        if let known = series[labels] { return known }
        let new: Series =
            kind == .histogram ? .histogram(PrometheusHistogram()) : .value(PrometheusValue())
        series[labels] = new
        return new
    }

    /// Appends the family's lines.
    func render(_ name: String, into text: inout String) {
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            switch series {
            case .value(let value):
                let braces = labels.isEmpty ? "" : "{\(labels)}"
                text += "\(name)\(braces) \(PrometheusText.number(value.current))\n"
            case .histogram(let histogram): histogram.render(name, labels, into: &text)
            }
        }
    }
}
