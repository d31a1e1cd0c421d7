// How the search orders what it finds: Sphinx's points, and of equal ones the shortest path first, so that torch.softmax
// stands before torch.nn.Softmax, and that before those of inner modules.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => score - title.split(".").length / 100,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
