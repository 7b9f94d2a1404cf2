import Testing

@testable import PollerLocalization

/// The one set of Portuguese texts is for payers in Portugal and in Brazil.
@Suite("The Portuguese texts")
struct PortugueseWordsTests {
    @Test(
        "every form of Portuguese gets them",
        arguments: ["pt", "pt-BR", "pt-PT", "pt_BR", "PT-br"]
    )
    func tags(tag: String) {
        #expect(PayerLanguage(tag: tag) == .pt)
        #expect(PayerLanguage(acceptLanguage: "\(tag),en;q=0.5") == .pt)
    }

    @Test(
        "they have no word that a reader in Brazil finds foreign",
        arguments: [
            "encomenda", "contact", "consigo", "introduz", "multibanco", "cativ", "libert",
            "descritivo", "balcão", "montante", "enviámos", "comprovativo", "carregue",
            // In Portugal, "is being" is written with an infinitive.
            "estamos a ", "está a ", "= a confirmar",
        ]
    )
    func words(word: String) {
        // The names of keys are English.
        let texts = EmbeddedTexts.pt_txt
            .split(separator: "\n")
            .map { String($0.drop { $0 != "=" }) }
        #expect(!texts.isEmpty)
        #expect(texts.filter { $0.lowercased().contains(word) } == [])
    }
}
