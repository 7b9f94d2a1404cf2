import Foundation
import PollerAPI
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerPayments
import PollerUpstreams

/// The text that `check-config` prints about a configuration.
extension Configuration {
    /// One line for each setting that the file's sections add to the options.
    private var sectionLines: [String] {
        sections.accounts.map { id, account in
            "account \(id)" + (account.charge == nil ? "" : ", charges sources")
                + (account.refundsDuplicates ? ", refunds duplicates" : "")
                + (account.acts.ofHold.map { ", \($0.rawValue)s holds before they expire" }
                    ?? "")
                + (account.acts.ofAbandoned == nil ? "" : ", cancels unpaid intents")
        }.sorted()
            + sections.upstreams.map { "upstream \($0.name)" }
            + (sections.endpoints ?? []).map { endpoint in
                "endpoint \(endpoint.name ?? "") (\(endpoint.id), account \(endpoint.account)) "
                    + "\(endpoint.url), \(endpoint.secrets.count) secrets (redacted)"
            }
    }

    /// The output of `check-config`: one line per option, with secrets redacted.
    var report: String {
        var lines: [String] = []
        let width = (Option.all.map(\.key.count).max() ?? 0) + 2
        for option in Option.all {
            let value = values[option.key]
            let shown =
                switch value {
                case nil: "(not set)"
                case .some where option.secrecy == .hidden: "(redacted)"
                case .some(let value): Self.withoutPassword(value.text)
                }
            let name = option.key.padding(toLength: width, withPad: " ", startingAt: 0)
            let origin = (value?.origin.rawValue ?? "").padding(
                toLength: 12,
                withPad: " ",
                startingAt: 0
            )
            lines.append("\(name)\(origin)\(option.variable)=\(shown)")
        }
        for (name, said) in sectionNames {
            lines.append(
                name.padding(toLength: width, withPad: " ", startingAt: 0)
                    + (said.isEmpty ? "            (none)" : "file        \(said)")
            )
        }
        return (lines + sectionLines).joined(separator: "\n")
    }

    /// The sections of the file with the names in each.
    private var sectionNames: [(String, String)] {
        let names = [
            "accounts": sections.accounts.keys.map(\.description).sorted(),
            "upstreams": sections.upstreams.map(\.name.description),
            "endpoints": (sections.endpoints ?? []).compactMap(\.name),
        ]
        return FileSections.keys.map { ($0, names[$0, default: []].joined(separator: ", ")) }
    }

    /// All mistakes in the configuration, so that an operator can correct them in one go.
    ///
    /// Each wrong value is reported once and then replaced by the option's default, so that the other options are
    /// checked too.
    var mistakes: [ConfigurationError] {
        var configuration = self
        var found = sectionMistakes
        var seen: Set<String> = []
        while true {
            do throws(ConfigurationError) {
                let settings = try Settings(configuration, isTrial: true)
                if let path = settings.apiKeysFile {
                    do throws(InvalidInput) {
                        _ = try KeyFile(contentsOfFile: path)
                    } catch {
                        let reader = OptionReader(values: configuration.values)
                        throw reader.wrong("api_keys_file", error.message)
                    }
                }
                return found
            } catch {
                let line = error.line ?? error.key.flatMap(line(of:))
                found.append(ConfigurationError(error.description, key: error.key, line: line))
                guard let key = error.key, seen.insert(key).inserted else { return found }
                configuration.values[key] = Option.named(key).standard.map {
                    Value(text: $0, origin: .standard)
                }
            }
        }
    }

    /// Endpoints of the file that can never receive a delivery, one sentence each.
    ///
    /// They are not mistakes, because the process that delivers to them may have another configuration.
    var unreachableEndpoints: [String] {
        // The allowed ranges are unknown while the configuration has other mistakes.
        guard let settings = try? Settings(self, isTrial: true) else { return [] }
        let guarding = AddressGuard(
            allowing: settings.allowedRanges,
            translators: settings.translators
        )
        return (sections.endpoints ?? []).compactMap { endpoint in
            guarding.rejectionReason(for: endpoint.url).map {
                "endpoint \(endpoint.name ?? "\(endpoint.id)") cannot receive events: its url \($0)"
            }
        }
    }
}
